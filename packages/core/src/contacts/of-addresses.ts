import { emailKey } from '../contract/fields/email-address.ts'
import type { Reads } from '../storage/ports/stores.ts'

/** The contact that has an address. */
export interface AddressContact {
  id: string
  name: string | null
}

/** Finds the contacts of some phone numbers and e-mail addresses; the result gives the contact of one of them. */
export async function contactsOf(
  contacts: Pick<Reads['contacts'], 'names'>,
  workspaceId: string,
  addresses: readonly string[],
): Promise<(address: string) => AddressContact | null> {
  const given = [...new Set(addresses)]
  const keys = {
    phones: given.filter((one) => !one.includes('@')),
    email_keys: given.filter((one) => one.includes('@')).map(emailKey),
  }
  const found = new Map<string, AddressContact>()
  for (const { id, name, phone, email_key } of await contacts.names(workspaceId, keys)) {
    for (const key of [phone, email_key]) if (key !== null) found.set(key, { id, name })
  }
  return (address) => found.get(address) ?? found.get(emailKey(address)) ?? null
}
