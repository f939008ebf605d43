import type { DevServer } from '../../packages/cli/test/dev-server.ts'

/** The value for a placeholder of a page; made when a page contains it. */
type Filling = (context: {
  dev: DevServer
  secret: string
  signature: string
}) => string | Promise<string>

const HEX = '0123456789abcdef'.repeat(2)

/** The placeholders of the pages. The first match wins. */
export const PLACEHOLDERS: [RegExp, Filling][] = [
  [/<this repository>/, () => 'https://git.example.com/svc.git'],
  [/<message[_-]id>|<message>/, ({ dev }) => aMessage(dev)],
  [/<purchase[_-]id>/, ({ dev }) => aPurchase(dev)],
  [/<workspace_id>/, ({ dev }) => dev.workspace.id],
  [/<session_id>/, () => `cs_${HEX}`],
  [/<X-Svc-Signature>/, ({ signature }) => signature],
  [/<webhook[_-]id>|(?<=webhooks \S+ )<id>/, ({ dev }) => aWebhook(dev)],
  [/<bulk[_-]id>|(?<=bulk \S+ )<id>/, ({ dev }) => aBulk(dev)],
  [/<(?:key|api_key)>|svc_…/, ({ dev }) => dev.api_key],
  [/svc_test_…/, ({ dev }) => aTestKey(dev)],
  [/01934f5e-8c00-7a3b-9d2e-5f6a7b8c9d01/, ({ dev }) => aContact(dev)],
  [/whsec_…/, ({ secret }) => secret],
  [/(?<=sk_test_)…/, () => HEX],
  [/(?<=\b(?:AC|MG|HX))…/, () => HEX],
  [/(?<=Version |tag v)…/, () => '1.0.0'],
  [/(?<=[=:"'])…/, () => `filled-in-${HEX}`],
]

/** Replaces the placeholders in the code of a page. */
export async function filled(code: string, context: Parameters<Filling>[0]): Promise<string> {
  let text = code
  for (const [pattern, filling] of PLACEHOLDERS) {
    const all = new RegExp(pattern, 'g')
    if (!pattern.test(text)) continue
    const value = await filling(context)
    text = text.replaceAll(all, () => value)
  }
  return text
}

/** Requests the page's own server. @throws Error with the answer if it is not a success. */
export async function post<T>(
  dev: DevServer,
  path: string,
  body?: object,
  headers: Record<string, string> = { 'X-API-Key': dev.api_key },
): Promise<T> {
  const answer = await fetch(`${dev.url}/api/v1${path}`, {
    method: body ? 'POST' : 'GET',
    headers: { ...headers, ...(body && { 'Content-Type': 'application/json' }) },
    ...(body && { body: JSON.stringify(body) }),
  })
  const text = await answer.text()
  if (!answer.ok) throw new Error(`${path} answered ${answer.status}: ${text}`)
  return (JSON.parse(text) as { data: T }).data
}

/** The token of a login to the demo workspace. */
export async function tokenOf(dev: DevServer): Promise<string> {
  const body = { email: dev.workspace.email, password: dev.password }
  return (await post<{ token: string }>(dev, '/auth/login', body, {})).token
}

export async function aMessage(dev: DevServer): Promise<string> {
  const body = { channel: 'sms', to: '+15005550006', content: { text: 'Hello' } }
  return (await post<{ message_id: string }>(dev, '/messages/send', body)).message_id
}

export async function aTestKey(dev: DevServer): Promise<string> {
  const Authorization = `Bearer ${await tokenOf(dev)}`
  const body = { name: 'test', mode: 'test' }
  return (await post<{ key: string }>(dev, '/api-keys', body, { Authorization })).key
}

async function aBulk(dev: DevServer): Promise<string> {
  const body = { channel: 'sms', recipients: ['+15005550001'], content: { text: 'Hello' } }
  return (await post<{ bulk_id: string }>(dev, '/messages/bulk', body)).bulk_id
}

async function aContact(dev: DevServer): Promise<string> {
  const body = { name: 'Juma', phone: '+255700000009' }
  return (await post<{ contact: { id: string } }>(dev, '/contacts', body)).contact.id
}

async function aWebhook(dev: DevServer): Promise<string> {
  const body = { url: 'http://127.0.0.1:9/hooks', events: ['message.read'] }
  return (await post<{ webhook: { id: string } }>(dev, '/webhooks', body)).webhook.id
}

async function aPurchase(dev: DevServer): Promise<string> {
  const Authorization = `Bearer ${await tokenOf(dev)}`
  const body = { package_id: 'starter' }
  const answer = await post<{ purchase_id: string }>(dev, '/billing/checkout', body, {
    Authorization,
  })
  return answer.purchase_id
}
