import { signal } from '@preact/signals'
import type { ConsoleSession, Need } from '../../src/console-api/console-answers.ts'
import { base, facts } from './facts.ts'
import { t } from './text.ts'
import { workspaceZone } from './time-zone.ts'

/** `live` or `test`: which data requests see. */
type Mode = 'live' | 'test'

type Signed = ConsoleSession & {
  user: NonNullable<ConsoleSession['user']>
  workspace_id: string
  role: NonNullable<ConsoleSession['role']>
}

/** The session; undefined before it is known, null if the person is not signed in. */
export const session = signal<Signed | null | undefined>(undefined)

/** The name of the operator who is signed in; null for none. */
export const operator = signal<string | null>(null)

// A choice of the tab, not a credential: two tabs may show two workspaces.
const STORED_MODE = 'svc.mode'
const STORED_WORKSPACE = 'svc.workspace'

/** The chosen data: live or test. */
export const mode = signal<Mode>(stored(STORED_MODE) === 'test' ? 'test' : 'live')

/** The chosen workspace; null: that of the session. */
export const chosenWorkspace = signal<string | null>(stored(STORED_WORKSPACE))

/** A value that this tab stored; null for none. */
export function stored(name: string): string | null {
  try {
    return sessionStorage.getItem(name)
  } catch {
    return null
  }
}

/** Stores a value until the tab is closed; null removes it. */
export function store(name: string, value: string | null): void {
  try {
    if (value === null) sessionStorage.removeItem(name)
    else sessionStorage.setItem(name, value)
  } catch {
    // A browser without storage, or with a full one, forgets the value at a reload.
  }
}

/** The headers that every request of the console has. */
export function choiceHeaders(): Record<string, string> {
  const workspace = chosenWorkspace.value
  return {
    'x-svc-mode': mode.value,
    ...(workspace !== null && { 'x-svc-workspace': workspace }),
  }
}

/** Whether the role of the person includes a capability. The server checks it too. */
export function may(need: Need): boolean {
  if (need === 'operate') return operator.value !== null
  return session.value?.may.includes(need) ?? false
}

/** Chooses live or test data; pages load again. */
export function chooseMode(next: Mode): void {
  store(STORED_MODE, next)
  mode.value = next
}

/** Chooses a workspace of the person; pages load again. */
export async function chooseWorkspace(id: string): Promise<void> {
  store(STORED_WORKSPACE, id)
  chosenWorkspace.value = id
  await loadSession()
}

/** Reads the session from the server. @throws Error if the service cannot be reached. */
export async function loadSession(): Promise<void> {
  let found = await ask('GET')
  if (!found?.user && (chosenWorkspace.value !== null || facts.dev)) {
    // The person may have left the workspace that the tab shows. Beside svc dev, a cookie may be of former data: it is gone now.
    store(STORED_WORKSPACE, null)
    chosenWorkspace.value = null
    found = await ask('GET')
  }
  take(found)
}

/** Ends the session. */
export async function signOut(): Promise<void> {
  await ask('DELETE')
  store(STORED_WORKSPACE, null)
  chosenWorkspace.value = null
  session.value = null
}

function take(found: ConsoleSession): void {
  operator.value = found.operator
  workspaceZone.value = found.time_zone ?? 'UTC'
  session.value = found.user && found.workspace_id && found.role ? (found as Signed) : null
}

async function ask(method: string): Promise<ConsoleSession> {
  const response = await fetch(`${base}/api/session`, {
    method,
    headers: choiceHeaders(),
  })
  const answer = (await response.json().catch(() => null)) as {
    success?: boolean
    data?: ConsoleSession
    message?: string
  } | null
  if (!answer?.success || !answer.data) {
    const { status, headers } = response
    const text = answer?.message ?? t('The service answered with status {status}.', { status })
    const retry_after_s = Number(headers.get('retry-after')) || undefined
    throw Object.assign(new Error(text), { retry_after_s })
  }
  return answer.data
}

/** Why the console could not begin. `retry_after_s`: when the service takes requests again. */
export const startError = signal<(Error & { retry_after_s?: number }) | undefined>(undefined)
