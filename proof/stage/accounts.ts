import { Svc } from '@svc/client'

/** A workspace that sends, with the data that its owner has. */
export interface Account {
  workspace_id: string
  token: string
  /** A live key and a test key. */
  keys: { live: string; test: string }
  webhook: { id: string; secret: string; path: string }
}

/** Signs up and logs in through the API; `owner` is a client with the token. */
export async function signUp(baseUrl: string, name: string) {
  const stranger = new Svc({ baseUrl })
  const email = `${name}@example.com`
  const password = 'correct horse battery staple'
  await stranger.workspaces.signup({ email, password, company_name: name })
  const { workspace, token } = await stranger.workspaces.login({ email, password })
  return { workspace_id: workspace.id, token, owner: new Svc({ baseUrl, token }) }
}

/** Signs up, and makes keys and a webhook. */
async function openAccount(base_url: string, receiverUrl: string, name: string): Promise<Account> {
  const { workspace_id, token, owner } = await signUp(base_url, name)
  const live = await owner.apiKeys.create({ name: 'live' })
  const test = await owner.apiKeys.create({ name: 'test', mode: 'test' })
  const path = `/${name}`
  const { webhook } = await owner.webhooks.create({ url: `${receiverUrl}${path}`, events: ['*'] })
  return {
    workspace_id,
    token,
    keys: { live: live.key, test: test.key },
    webhook: { id: webhook.id, secret: webhook.secret, path },
  }
}

/** Opens the accounts of a run, which the receiver trusts. */
export async function openAccounts(
  base_url: string,
  receiver: { url: string; trust(accounts: readonly Account[]): void },
): Promise<Account[]> {
  const names = ['asha', 'baraka']
  const accounts = await Promise.all(names.map((name) => openAccount(base_url, receiver.url, name)))
  receiver.trust(accounts)
  return accounts
}
