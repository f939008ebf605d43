import type { Subscriptions } from '../contract/resources/contacts.ts'
import type { Channel, Metadata } from '../contract/resources/messages.ts'
import type { Dialect } from './dialect.ts'

export function contactTables(d: Dialect) {
  const contacts = d.table(
    'contacts',
    {
      id: d.text().notNull(),
      workspace_id: d.text().notNull(),
      name: d.text(),
      phone: d.text(),
      email: d.text(),
      /** The address in lower case, which is unique in a workspace. */
      email_key: d.text(),
      external_id: d.text(),
      tags: d.json<string[]>().notNull(),
      attributes: d.json<Metadata>().notNull(),
      subscriptions: d.json<Subscriptions>().notNull(),
      /** The text in which a search looks, in lower case. */
      search_text: d.text().notNull(),
      created_at: d.time().notNull(),
      updated_at: d.time().notNull(),
    },
    (t) => [
      d.primaryKey({ columns: [t.workspace_id, t.id] }),
      d.uniqueIndex('contacts_phone').on(t.workspace_id, t.phone),
      d.uniqueIndex('contacts_email_key').on(t.workspace_id, t.email_key),
      d.uniqueIndex('contacts_external_id').on(t.workspace_id, t.external_id),
    ],
  )
  /** An index of the tags of contacts. */
  const contact_tags = d.table(
    'contact_tags',
    {
      workspace_id: d.text().notNull(),
      tag: d.text().notNull(),
      contact_id: d.text().notNull(),
    },
    (t) => [
      d.primaryKey({ columns: [t.workspace_id, t.tag, t.contact_id] }),
      d.index('contact_tags_contact').on(t.workspace_id, t.contact_id),
    ],
  )
  /** An index of the words of `search_text` by their beginnings: `wordKey` makes the words. */
  const contact_words = d.table(
    'contact_words',
    {
      workspace_id: d.text().notNull(),
      word: d.text().notNull(),
      contact_id: d.text().notNull(),
    },
    (t) => [d.primaryKey({ columns: [t.workspace_id, t.word, t.contact_id] })],
  )
  /** Recipients that get no messages on a channel. */
  const suppressions = d.table(
    'suppressions',
    {
      workspace_id: d.text().notNull(),
      channel: d.text().$type<Channel>().notNull(),
      /** A phone number in E.164, or an e-mail address in lower case. */
      address: d.text().notNull(),
      reason: d.text().$type<'opt_out' | 'bounce' | 'complaint' | 'manual'>().notNull(),
      created_at: d.time().notNull(),
    },
    (t) => [d.primaryKey({ columns: [t.workspace_id, t.channel, t.address] })],
  )
  return { contacts, contact_tags, contact_words, suppressions }
}
