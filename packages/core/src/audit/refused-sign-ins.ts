import { createHmac } from 'node:crypto'
import type { Runtime } from '../runtime/runtime.ts'
import type { Storage } from '../storage/ports/storage.ts'
import { AUDIT_SECRET } from './audit.ts'
import { type Actor, auditRow } from './entry.ts'

/** A login that belongs to many workspaces is recorded in the first of them. */
const WORKSPACES_MAX = 10
const HASH_LENGTH = 32

/** A sign-in that was refused. */
export interface RefusedSignIn {
  /** The account; null if no account has the name. */
  account: { id: string; workspace_ids: readonly string[] } | null
  /** The e-mail address or the name of an operator, as it was sent. */
  name: string
  kind: 'member' | 'operator'
  reason: 'password' | 'second_factor'
  actor: Actor
}

/** Records a refused sign-in in the audit log and in the log of the service. */
export type NoteRefused = (refused: RefusedSignIn) => Promise<void>

/**
 * Records refused sign-ins with the address of the client and the account. A name without an account may be a password in the
 * wrong field, so a keyed hash stands for it; equal names have equal hashes.
 */
export function createRefusedSignIns({
  storage,
  runtime,
  secret,
}: {
  storage: Storage
  runtime: Runtime
  secret: (name: string) => Promise<string>
}): NoteRefused {
  return async ({ account, name, kind, reason, actor }) => {
    const key = await secret(AUDIT_SECRET)
    const id = account?.id ?? hashOf(key, name)
    const type = kind === 'operator' ? 'operator' : 'login'
    const target = { type: account ? type : `unknown_${type}`, id }
    const { address } = actor
    runtime.log.warn({ [target.type]: id, address, reason }, 'a sign-in was refused')
    const action = kind === 'operator' ? 'operator.refused' : 'session.refused'
    const workspaces = account?.workspace_ids.slice(0, WORKSPACES_MAX) ?? []
    await storage.write(async ({ audit }) => {
      for (const workspace_id of workspaces.length > 0 ? workspaces : [''])
        await audit.record(
          auditRow(runtime, actor, { workspace_id, action, target, details: { reason } }),
        )
    })
  }
}

function hashOf(key: string, name: string): string {
  const hmac = createHmac('sha256', key).update(`sign-in\0${name.trim().toLowerCase()}`)
  return hmac.digest('hex').slice(0, HASH_LENGTH)
}
