import type { NoteRefused, RefusedSignIn } from '../audit/audit.ts'
import type { UserRow, WorkspaceRow } from '../rows/rows.ts'
import type { Storage } from '../storage/ports/storage.ts'
import type { Reads } from '../storage/ports/stores.ts'

/** A person who can log in: the owner of a workspace, or a user who owns none. */
export interface Login {
  /** The id of the workspace that the login owns, or of the user. */
  id: string
  owns_workspace: boolean
  email: string
  email_verified: boolean
  /** The name of the person. */
  name: string | null
  /** Null for a user who signs in with OIDC only. */
  password_hash: string | null
  token_version: number
  created_at: Date
}

type LoginReads = { users: Reads['users'] } & Pick<Reads, 'workspaces'>

/** The login of an address; null for none. Addresses are compared in lower case. */
export async function loginByEmail(
  { workspaces, users }: LoginReads,
  email: string,
): Promise<Login | null> {
  // Both queries are made for every address, so that the time does not show whether it owns a workspace.
  const [owner, user] = await Promise.all([workspaces.byEmail(email), users.byEmail(email)])
  if (owner) return ofOwner(owner)
  return user && ofUser(user)
}

/** The login with an id; null for none. */
export async function loginById(
  { workspaces, users }: LoginReads,
  id: string,
): Promise<Login | null> {
  const owner = await workspaces.byId(id)
  if (owner) return ofOwner(owner)
  const user = await users.byId(id)
  return user && ofUser(user)
}

/** The workspaces of a login: its own first, then the others in the order in which it joined them. */
export async function workspaceIdsOf(
  { members }: { members: Reads['members'] },
  { id, owns_workspace }: Pick<Login, 'id' | 'owns_workspace'>,
): Promise<string[]> {
  const joined = await members.ofUser(id)
  return [...(owns_workspace ? [id] : []), ...joined.map(({ workspace_id }) => workspace_id)]
}

function ofOwner({ owner_name: name, ...row }: WorkspaceRow): Login {
  const { id, email, email_verified, password_hash, token_version, created_at } = row
  const verified = { email_verified, owns_workspace: true }
  return { id, email, name, password_hash, token_version, created_at, ...verified }
}

/** The login of a user who owns no workspace. */
export function ofUser({
  id,
  email,
  name,
  password_hash,
  token_version,
  created_at,
}: UserRow): Login {
  const verified = { email_verified: true, owns_workspace: false }
  return { id, email, name, password_hash, token_version, created_at, ...verified }
}

/** Records a refused sign-in of the login; null: no login has the address. */
export async function noteRefusedLogin(
  { storage, noteRefused }: { storage: Storage; noteRefused: NoteRefused },
  login: Login | null,
  { email, ...refused }: Pick<RefusedSignIn, 'reason' | 'actor'> & { email: string },
): Promise<void> {
  const workspace_ids = login ? await workspaceIdsOf(storage.read, login) : []
  const account = login && { id: login.id, workspace_ids }
  await noteRefused({ ...refused, account, name: email, kind: 'member' })
}
