import type { Reads, Storage, Writes } from '../../src/storage/ports/storage.ts'

declare const storage: Storage

/** Checked by the compiler alone: `read` has no change, and a transaction has the queries and the changes. */
export async function readsHaveNoWrites(stores: Writes): Promise<void> {
  // @ts-expect-error: a change of a workspace is no query.
  storage.read.workspaces.insert
  // @ts-expect-error: a debit is no query.
  storage.read.credits.post
  // @ts-expect-error: neither is a lock.
  storage.read.webhooks.lock
  // @ts-expect-error: a store without queries is not there at all.
  storage.read.ownerMails
  await stores.workspaces.byId('w')
  await stores.credits.lock('w')
}

/** The stores of `read` with a query of one of these names, which only changes have: none. */
type Changing = {
  [Store in keyof Reads]: Extract<
    keyof Reads[Store],
    'lock' | 'insert' | 'change' | 'remove' | 'add' | 'post' | 'end' | 'clear' | 'touch' | 'forget'
  > extends never
    ? never
    : Store
}[keyof Reads]

export const none: Record<Changing, never> = {}
