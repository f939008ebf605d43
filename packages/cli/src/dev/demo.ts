import { randomBytes } from 'node:crypto'
import type { Core } from '@svc/core'
import { api, decode, type WorkspaceSummary } from '@svc/core/contract'
import type { DevFile } from '../connect/dev-file.ts'

/** What can be bought from `svc dev` where no packages are set: the form of `SVC_CREDIT_PACKAGES`. */
export const DEMO_PACKAGES = JSON.stringify([
  {
    id: 'starter',
    name: 'Starter',
    description: 'To try it out',
    credits: 1_000,
    price: { amount: 1_000, currency: 'USD' },
  },
  {
    id: 'growth',
    name: 'Growth',
    description: 'For regular sending',
    credits: 10_000,
    bonus_credits: 500,
    price: { amount: 9_500, currency: 'USD' },
  },
  {
    id: 'scale',
    name: 'Scale',
    description: 'For campaigns',
    credits: 100_000,
    bonus_credits: 10_000,
    price: { amount: 90_000, currency: 'USD' },
  },
])

const DEMO_EMAIL = 'demo@sandbox.svc'
const PASSWORD_BYTES = 15

/** The workspace that `svc dev` shows the service with. */
export interface Demo {
  /** A live key with every scope. */
  api_key: string
  workspace: WorkspaceSummary
  /** Null when the workspace is older than what is remembered of it. */
  password: string | null
}

/** The workspace and key that are remembered, as far as they still hold; what does not is made anew. */
export async function prepareDemo(core: Core, remembered: DevFile | null): Promise<Demo> {
  const { workspace, password } = await demoWorkspace(core, remembered)
  if (remembered && (await isKeyOf(core, workspace.id, remembered.api_key))) {
    return { api_key: remembered.api_key, workspace, password }
  }
  const request = decode(api.api_keys.create.body, { name: 'svc dev' })
  const { key } = await core.apiKeys.create(workspace.id, request)
  return { api_key: key, workspace, password }
}

async function demoWorkspace(
  core: Core,
  remembered: DevFile | null,
): Promise<Omit<Demo, 'api_key'>> {
  const known = remembered && (await core.workspaces.byEmail(remembered.workspace.email))
  if (known && known.id === remembered.workspace.id) {
    return { workspace: known, password: remembered.workspace.password }
  }
  const found = await core.workspaces.byEmail(DEMO_EMAIL)
  if (found) return { workspace: found, password: null }
  const password = randomBytes(PASSWORD_BYTES).toString('base64url')
  const request = { email: DEMO_EMAIL, password, company_name: 'Demo' }
  const workspace = await core.workspaces.create(decode(api.workspaces.signup.body, request))
  return { workspace, password }
}

async function isKeyOf(core: Core, workspaceId: string, key: string): Promise<boolean> {
  try {
    const { workspace_id } = await core.apiKeys.authenticate(key, '127.0.0.1')
    return workspace_id === workspaceId
  } catch {
    // Deactivated, expired, or of a database that is gone.
    return false
  }
}
