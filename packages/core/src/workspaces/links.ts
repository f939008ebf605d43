import { hash } from 'node:crypto'
import { type Actor, auditRow, SERVICE } from '../audit/entry.ts'
import { SvcError } from '../contract/errors.ts'
import type { SignInLink } from '../contract/resources/members.ts'
import type { OidcIdentityRow } from '../rows/rows.ts'
import type { Runtime } from '../runtime/runtime.ts'
import type { Storage, Writes } from '../storage/ports/storage.ts'
import { loginById, workspaceIdsOf } from './logins.ts'
import { actorOf } from './sessions.ts'

/** The links of a login to subjects of OIDC providers, with which a person signs in. */
export interface Links {
  /** The links of a login, oldest first. */
  links(userId: string): Promise<SignInLink[]>
  /** Ends a link: the subject does not sign in as this login any more. Sessions continue. @throws SvcError `not_found`. */
  unlink(userId: string, linkId: string, actor?: Actor): Promise<void>
}

export function createLinks({ storage, runtime }: { storage: Storage; runtime: Runtime }): Links {
  return {
    async links(userId) {
      return (await storage.read.users.identities(userId)).map(recordOf)
    },
    async unlink(userId, linkId, actor = SERVICE) {
      await storage.write(async (stores) => {
        const rows = await stores.users.identities(userId)
        const ended = await endLinks(runtime, stores, rows, (row) => idOf(row) === linkId, actor)
        if (ended === 0) throw new SvcError('not_found', 'Link not found')
      })
    },
  }
}

/** Ends those of the links of one login that `isEnding` selects; returns their number. */
export async function endLinks(
  runtime: Runtime,
  stores: Writes,
  rows: readonly OidcIdentityRow[],
  isEnding: (row: OidcIdentityRow) => boolean,
  actor: Actor,
): Promise<number> {
  const ending = rows.filter(isEnding)
  for (const row of ending) {
    await stores.users.unlink(row)
    await recordLink(runtime, stores, 'sign_in.unlinked', row, actor)
  }
  return ending.length
}

/** Records a change of a link in each workspace of its login. */
export async function recordLink(
  runtime: Runtime,
  stores: Writes,
  action: 'sign_in.linked' | 'sign_in.unlinked',
  { issuer, subject, user_id }: OidcIdentityRow,
  actor: Actor,
): Promise<void> {
  const login = await loginById(stores, user_id)
  if (!login) return
  const target = { type: 'member', id: user_id }
  for (const workspace_id of await workspaceIdsOf(stores, login)) {
    const changed = { workspace_id, action, target, details: { issuer, subject } } as const
    const who = actor.kind === 'session' ? actor : actorOf(user_id, workspace_id, actor)
    await stores.audit.record(auditRow(runtime, who, changed))
  }
}

function recordOf(row: OidcIdentityRow): SignInLink {
  const { issuer, subject, created_at } = row
  return { id: idOf(row), issuer, subject, created_at }
}

/** A name of the link for the address of a request: issuers and subjects may have any characters. */
function idOf({ issuer, subject }: OidcIdentityRow): string {
  return hash('sha256', JSON.stringify([issuer, subject]))
}
