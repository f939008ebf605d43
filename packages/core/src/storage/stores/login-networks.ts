import { and, desc, eq, gte, inArray, lt, notInArray, or, type SQL } from 'drizzle-orm'
import { emailKey } from '../../contract/fields/email-address.ts'
import { LIMITS } from '../../contract/limits.ts'
import type { Db } from '../../rows/dialect.ts'
import type { LoginNetworkRow } from '../../rows/rows.ts'
import type { Tables } from '../../rows/tables.ts'
import type { StoreDialect } from './dialect.ts'
import { removeOldest } from './pages.ts'

/** The networks from which accounts logged in. */
export function loginNetworkStore(
  db: Db,
  { login_networks: t, workspaces, users, operators }: Tables,
  { locked }: StoreDialect,
) {
  async function isKnown(ofLogin: SQL | undefined, network: string, since: Date) {
    const known = and(ofLogin, eq(t.network, network), gte(t.last_login_at, since))
    return (await db.select({ network: t.network }).from(t).where(known)).length === 1
  }

  return {
    reads: {
      /**
       * Whether the account of an e-mail address logged in from that network since that time. It is one query, whether or
       * not the address has an account.
       */
      async byEmail(email: string, network: string, since: Date): Promise<boolean> {
        const key = emailKey(email)
        const owner = db.select({ id: workspaces.id }).from(workspaces)
        const user = db.select({ id: users.id }).from(users)
        const ofAddress = or(
          inArray(t.workspace_id, owner.where(eq(workspaces.email_key, key))),
          inArray(t.workspace_id, user.where(eq(users.email_key, key))),
        )
        return isKnown(ofAddress, network, since)
      },
      /** The same for the operator of a name, as `OperatorReads.byName` finds it. */
      async byOperator(name: string, network: string, since: Date): Promise<boolean> {
        const operator = db.select({ id: operators.id }).from(operators)
        const ofName = operator.where(eq(operators.name_key, emailKey(name)))
        return isKnown(inArray(t.workspace_id, ofName), network, since)
      },
    },
    writes: {
      /** The last login of a login from a network; null for none. */
      async lastLogin(workspaceId: string, network: string): Promise<Date | null> {
        const one = and(eq(t.workspace_id, workspaceId), eq(t.network, network))
        const [row] = await db.select({ at: t.last_login_at }).from(t).where(one)
        return row?.at ?? null
      },
      /** Records a login. Keeps the workspace's newest `LIMITS.login_networks`. */
      async note(row: LoginNetworkRow): Promise<void> {
        const ofWorkspace = eq(t.workspace_id, row.workspace_id)
        // Without the lock, one of two concurrent transactions would not see the other's row.
        const owner = db.select({ id: workspaces.id }).from(workspaces)
        await locked(owner.where(eq(workspaces.id, row.workspace_id)))
        const user = db.select({ id: users.id }).from(users)
        await locked(user.where(eq(users.id, row.workspace_id)))
        const operator = db.select({ id: operators.id }).from(operators)
        await locked(operator.where(eq(operators.id, row.workspace_id)))
        await db
          .insert(t)
          .values(row)
          .onConflictDoUpdate({
            target: [t.workspace_id, t.network],
            set: { last_login_at: row.last_login_at },
          })
        const newest = db
          .select({ network: t.network })
          .from(t)
          .where(ofWorkspace)
          .orderBy(desc(t.last_login_at), desc(t.network))
          .limit(LIMITS.login_networks)
        await db.delete(t).where(and(ofWorkspace, notInArray(t.network, newest)))
      },
      /** Removes all networks of a workspace. */
      async clear(workspaceId: string): Promise<void> {
        await db.delete(t).where(eq(t.workspace_id, workspaceId))
      },
      /** Removes about `limit` networks whose last login is before that time; returns their number. */
      async forget(before: Date, limit: number): Promise<number> {
        const by = t.last_login_at
        return removeOldest(db, { from: t, by, condition: lt(by, before) }, limit)
      },
    },
  }
}
