import { type Viewer, viewOf } from '../api-keys/viewer.ts'
import { addressesOf, fold, historyAddresses } from '../contacts/change.ts'
import type { Contacts } from '../contacts/contacts.ts'
import type { Form, QueryIn } from '../contract/endpoints/endpoint.ts'
import { pageOf } from '../contract/endpoints/paging.ts'
import { SvcError } from '../contract/errors.ts'
import { LIMITS } from '../contract/limits.ts'
import type { Contact } from '../contract/resources/contacts.ts'
import { CHANNELS } from '../contract/resources/content.ts'
import type { PersonHistory, personHistory, personSearch } from '../contract/resources/people.ts'
import type { ReceivedMessage } from '../contract/resources/received.ts'
import type { Suppression } from '../contract/resources/suppressions.ts'
import type { CodeVerification } from '../contract/resources/verifications.ts'
import { messagesTo, type ShortMessage } from '../messages/search.ts'
import type { QuietHoursOf, RecipientZone } from '../quiet-hours/quiet-hours.ts'
import type { ContactRow, SuppressionRow } from '../rows/rows.ts'
import { wordsOf } from '../rules/contact-words.ts'
import { suppressedForms } from '../rules/recipients.ts'
import type { Runtime } from '../runtime/runtime.ts'
import type { Storage } from '../storage/ports/storage.ts'
import { shownVerification } from '../verifications/records.ts'

/** A contact as a search shows it. */
export type FoundPerson = Pick<Contact, 'id' | 'name' | 'phone' | 'email' | 'tags'>

/** A contact, and what decides whether and when it gets messages. */
export interface Person {
  contact: Contact
  /** The suppressions of its addresses, newest first. */
  suppressions: PersonSuppression[]
  zone: RecipientZone
}

/** A suppression and the message that caused it. */
export interface PersonSuppression extends Suppression {
  /** The message with the word that stopped messages; null for another cause, or if the message is gone. */
  received_id: string | null
}

/** Something that happened between a workspace and a contact. */
export type PersonEntry =
  | { kind: 'message'; message: ShortMessage; bulk: SentWith | null }
  | { kind: 'received'; received: ReceivedMessage }
  | { kind: 'verification'; verification: CodeVerification }

/** What sent a message to many. */
export interface SentWith {
  id: string
  name: string | null
  broadcast_id: string | null
}

/** What a workspace knows about its contacts, over all features. */
export interface People<F extends Form = 'given'> {
  /**
   * The contacts in which each word of the text begins a word of the name, the number, the address or the own id; first those
   * with the whole word. Its cost does not depend on the number of contacts: where more than 5,000 contacts have each of
   * the words, some that match may be missing.
   */
  find(
    workspaceId: string,
    query: QueryIn<{ query: typeof personSearch }, F>,
  ): Promise<{ people: FoundPerson[] }>
  /** One contact with its suppressions and its time zone. @throws SvcError `not_found`. */
  get(workspaceId: string, contactId: string): Promise<Person>
  /**
   * A page of the messages to the addresses of a contact, the messages from them and their one-time codes, newest first. An
   * e-mail is found by its first recipient. A test key sees only test data. @throws SvcError `not_found`.
   */
  history(
    viewer: Viewer,
    contactId: string,
    query: QueryIn<{ query: typeof personHistory }, F>,
  ): Promise<{ entries: PersonEntry[]; next_after: string | null }>
}

/** A reply and the suppression that it caused are stored in one transaction; clocks of servers differ. */
const CAUSE_MAX_MS = 60_000

/** The messages of an author in which the cause of a suppression is searched. */
const CAUSES_EXAMINED = 5

export function createPeople({
  storage: { read },
  runtime,
  contacts,
  quietHours,
}: {
  storage: Pick<Storage, 'read'>
  runtime: Pick<Runtime, 'now'>
  contacts: Pick<Contacts<'decoded'>, 'get'>
  quietHours: Pick<QuietHoursOf, 'zoneOf'>
}): People<'decoded'> {
  async function find(workspaceId: string, contactId: string): Promise<ContactRow> {
    const row = await read.contacts.byId(workspaceId, contactId)
    if (!row) throw new SvcError('not_found', 'Contact not found')
    return row
  }

  async function causeOf({
    workspace_id,
    channel,
    address: sender,
    reason,
    created_at,
  }: SuppressionRow): Promise<string | null> {
    if (reason !== 'opt_out') return null
    const at = created_at.getTime()
    const near = { from: new Date(at - CAUSE_MAX_MS), until: new Date(at + CAUSE_MAX_MS) }
    const page = { limit: CAUSES_EXAMINED, offset: 0 }
    const rows = await read.receivedMessages.list(workspace_id, { channel, sender, ...near }, page)
    return rows.find(({ keyword }) => keyword === 'stop')?.id ?? null
  }

  async function sentWith(workspaceId: string, bulkIds: readonly string[]) {
    const rows = await Promise.all(
      [...new Set(bulkIds)].map((id) => read.bulks.byId(workspaceId, id)),
    )
    return new Map(
      rows.flatMap((row) =>
        row ? [[row.id, { id: row.id, name: row.name, broadcast_id: row.broadcast_id }]] : [],
      ),
    )
  }

  async function messageEntries(asked: Asked): Promise<Dated[]> {
    const { workspace_id, livemode, addresses, channel, after, limit } = asked
    const filter = { livemode, channel, before_id: after }
    const messages = await messagesTo(read, workspace_id, { addresses, filter, limit })
    const bulks = await sentWith(
      workspace_id,
      messages.flatMap(({ bulk_id }) => bulk_id ?? []),
    )
    return messages.map((message) => {
      const bulk = bulks.get(message.bulk_id ?? '') ?? null
      return { id: message.id, entry: { kind: 'message', message, bulk } }
    })
  }

  /** One query a channel and address: that is the order of the index. */
  async function receivedEntries(asked: Asked): Promise<Dated[]> {
    const { workspace_id, livemode, addresses, after, limit } = asked
    const page = { limit, offset: 0, after }
    const authors = CHANNELS.filter((each) => !asked.channel || each === asked.channel).flatMap(
      (channel) =>
        addresses
          .filter((address) => address.includes('@') === (channel === 'email'))
          .map((sender) => ({ channel, sender, livemode })),
    )
    const found = await Promise.all(
      authors.map((author) => read.receivedMessages.list(workspace_id, author, page)),
    )
    return found.flat().map((received) => ({
      id: received.id,
      entry: { kind: 'received', received },
    }))
  }

  async function verificationEntries(asked: Asked): Promise<Dated[]> {
    const { workspace_id, livemode, addresses, channel, after, limit } = asked
    const page = { limit, offset: 0, after }
    const found = await Promise.all(
      addresses.map((recipient) =>
        read.verifications.list(workspace_id, { livemode, channel, recipient }, page),
      ),
    )
    const now = runtime.now()
    return found.flat().map((row) => ({
      id: row.id,
      entry: { kind: 'verification', verification: shownVerification(row, now) },
    }))
  }

  const entriesOf = {
    message: messageEntries,
    received: receivedEntries,
    verification: verificationEntries,
  }

  return {
    async find(workspaceId, { search, limit }) {
      const words = wordsOf(fold(search)).slice(0, LIMITS.person_search_words)
      const rows = await read.contacts.withWords(workspaceId, words, limit)
      return {
        people: rows.map(({ id, name, phone, email, tags }) => ({ id, name, phone, email, tags })),
      }
    },
    async get(workspaceId, contactId) {
      const row = await find(workspaceId, contactId)
      const { phone } = row
      const addresses = new Set([
        ...addressesOf(row),
        ...(phone === null ? [] : suppressedForms({ channel: 'whatsapp', address: phone })),
      ])
      const [contact, zone, suppressed] = await Promise.all([
        contacts.get(workspaceId, contactId),
        quietHours.zoneOf(workspaceId, row),
        read.suppressions.of(workspaceId, [...addresses]),
      ])
      const suppressions = await Promise.all(
        suppressed.map(async (suppression) => {
          const { channel, address, reason, created_at } = suppression
          const received_id = await causeOf(suppression)
          return { channel, address, reason, created_at, received_id }
        }),
      )
      suppressions.sort((a, b) => b.created_at.getTime() - a.created_at.getTime())
      return { contact, zone, suppressions }
    },
    async history(viewer, contactId, { kind, limit, ...query }) {
      const view = viewOf(viewer)
      const addresses = historyAddresses(await find(view.workspace_id, contactId))
      const asked = { ...view, ...query, addresses, limit: limit + 1 }
      const kinds = kind ? [kind] : (['message', 'received', 'verification'] as const)
      const found = await Promise.all(kinds.map((each) => entriesOf[each](asked)))
      const newest = found.flat().sort((a, b) => (a.id < b.id ? 1 : -1))
      const { rows, next_after } = pageOf(newest, { limit }, ({ id }) => id)
      return { entries: rows.map(({ entry }) => entry), next_after }
    },
  }
}

/** An entry with its id: ids are UUIDv7, so that their order is that of all entries. */
interface Dated {
  id: string
  entry: PersonEntry
}

interface Asked extends Omit<PersonHistory, 'kind'> {
  workspace_id: string
  livemode?: false
  addresses: readonly string[]
}
