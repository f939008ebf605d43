import { SvcError } from '../contract/errors.ts'
import type { MemberRow } from '../rows/rows.ts'
import type { Writes } from '../storage/ports/storage.ts'

/** Removes a member, and the user of the last membership. @throws SvcError `not_found`. */
export async function removeMember(
  stores: Writes,
  { workspace_id, user_id }: Pick<MemberRow, 'workspace_id' | 'user_id'>,
): Promise<void> {
  // Two transactions that remove the last two memberships wait for each other.
  await stores.users.lock(user_id)
  if (!(await stores.members.remove(workspace_id, user_id))) throw memberNotFound()
  await stores.sessions.clear(user_id, workspace_id)
  const others = await stores.members.ofUser(user_id)
  if (others.length === 0) await stores.users.remove(user_id)
}

export function memberNotFound(): SvcError {
  return new SvcError('not_found', 'Member not found')
}
