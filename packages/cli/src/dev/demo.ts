import { randomBytes } from 'node:crypto'
import type { Core } from '@svc/core'
import type { WorkspaceSummary } from '@svc/core/contract'
import type { DevFile } from '../connect/dev-file.ts'

/** The default credit packages of `svc dev`, in the form of `SVC_CREDIT_PACKAGES`. */
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

/** The demo workspace of `svc dev`. */
export interface Demo {
  /** A live key with every scope. It signs the callbacks of Twilio's door. */
  api_key: string
  workspace: WorkspaceSummary
  /** The password; null when the file of `svc dev` does not contain it. */
  password: string | null
}

/** Returns the workspace and the key of the file. If one of them is not valid, finds or creates another one. */
export async function prepareDemo(core: Core, file: DevFile | null): Promise<Demo> {
  const { workspace, password } = await demoWorkspace(core, file)
  if (file && (await isKeyOf(core, workspace.id, file.api_key))) {
    return { api_key: file.api_key, workspace, password }
  }
  const { key } = await core.apiKeys.create(workspace.id, { name: 'svc dev', signs: true })
  return { api_key: key, workspace, password }
}

async function demoWorkspace(core: Core, file: DevFile | null): Promise<Omit<Demo, 'api_key'>> {
  const known = file && (await core.workspaces.byEmail(file.workspace.email))
  if (known && known.id === file.workspace.id) {
    return { workspace: known, password: file.workspace.password }
  }
  const found = await core.workspaces.byEmail(DEMO_EMAIL)
  if (found) return { workspace: found, password: null }
  const password = randomBytes(PASSWORD_BYTES).toString('base64url')
  const request = { email: DEMO_EMAIL, password, company_name: 'Demo' }
  const workspace = await core.workspaces.create(request)
  return { workspace, password }
}

async function isKeyOf(core: Core, workspaceId: string, key: string): Promise<boolean> {
  try {
    const { workspace_id } = await core.apiKeys.authenticate(key, '127.0.0.1')
    return workspace_id === workspaceId
  } catch {
    // The key is deactivated or expired, or its database was deleted.
    return false
  }
}
