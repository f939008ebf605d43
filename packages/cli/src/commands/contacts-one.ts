import type { Contact, ContactsCreateBody } from '@svc/client'
import type { Command } from 'commander'
import { type ConnectionOptions, connect, withConnection } from '../connect/connection.ts'
import { type Context, listOf, withExamples } from '../context.ts'
import { confirm } from '../input/prompts.ts'
import { pairsOf } from '../messages/send-request.ts'
import { usage } from '../process/failure.ts'
import { printable } from '../show/text.ts'

interface Fields {
  name?: string
  phone?: string
  email?: string
  externalId?: string
  tags?: string
  attribute?: string[]
}

const ID = '01934f5e-8c00-7a3b-9d2e-5f6a7b8c9d01'

/** Adds the commands about one contact to `svc contacts`. */
export function addOneContact(contacts: Command, context: Context): void {
  const add = withConnection(
    withFields(
      contacts
        .command('add')
        .summary('create a contact')
        .description('Creates a contact. It needs a phone number or an e-mail address.'),
    ),
  ).action((options: ConnectionOptions & Fields) => addContact(context, options))
  withExamples(
    add,
    'svc contacts add --phone +14155550101 --name Asha --tags vip --attribute city=Dodoma',
  )

  const show = withConnection(
    oneContact(contacts, 'show', 'show a contact').description(
      'Shows a contact, with its subscriptions and attributes.',
    ),
  ).action((id: string, options: ConnectionOptions) => showContact(context, id, options))
  withExamples(show, `svc contacts show ${ID}`)

  const update = withConnection(
    withFields(
      oneContact(contacts, 'update', 'change a contact').description(
        'Changes the given fields of a contact and keeps the others. An empty text clears a field.',
      ),
    ),
  ).action((id: string, options: ConnectionOptions & Fields) => updateContact(context, id, options))
  withExamples(update, `svc contacts update ${ID} --email asha@example.com --tags vip,new`)

  const remove = withConnection(
    oneContact(contacts, 'delete', 'delete a contact')
      .description('Deletes a contact, after a confirmation. Suppressions of its addresses stay.')
      .option('--yes', 'do not ask'),
  ).action((id: string, options: ConnectionOptions & { yes?: boolean }) =>
    deleteContact(context, id, options),
  )
  withExamples(remove, `svc contacts delete ${ID} --yes`)
}

function oneContact(contacts: Command, name: string, summary: string): Command {
  return contacts.command(name).summary(summary).argument('<id>', 'the id of the contact')
}

function withFields(command: Command): Command {
  return command
    .option('--phone <number>', 'the phone number, in E.164 format')
    .option('--email <address>', 'the e-mail address')
    .option('--name <name>', 'the name')
    .option('--external-id <id>', 'the id of the contact in your own system')
    .option('--tags <list>', 'the tags, separated by commas')
    .option('--attribute <key=value...>', 'the attributes, which replace all others')
}

/** The fields in a request. An empty text is null, which clears a field. */
function fieldsOf({ name, phone, email, externalId, tags, attribute }: Fields): ContactsCreateBody {
  const texts = { name, phone, email, external_id: externalId }
  const given = Object.entries(texts).filter(([, text]) => text !== undefined)
  return {
    ...Object.fromEntries(given.map(([field, text]) => [field, text || null])),
    ...(tags !== undefined && { tags: listOf(tags) ?? [] }),
    ...(attribute && { attributes: pairsOf('--attribute', attribute) }),
  }
}

async function addContact(context: Context, options: ConnectionOptions & Fields): Promise<void> {
  const { client } = await connect(options, context.io)
  showOne(context, await client.contacts.create(fieldsOf(options)))
}

async function showContact(
  context: Context,
  id: string,
  options: ConnectionOptions,
): Promise<void> {
  const { client } = await connect(options, context.io)
  showOne(context, await client.contacts.get(id))
}

async function updateContact(
  context: Context,
  id: string,
  options: ConnectionOptions & Fields,
): Promise<void> {
  const fields = fieldsOf(options)
  if (Object.keys(fields).length === 0) {
    throw usage(
      'name a field to change: --phone, --email, --name, --external-id, --tags or --attribute',
    )
  }
  const { client } = await connect(options, context.io)
  showOne(context, await client.contacts.update(id, fields))
}

async function deleteContact(
  { io, output }: Context,
  id: string,
  { yes, ...options }: ConnectionOptions & { yes?: boolean },
): Promise<void> {
  if (!yes) await confirm(io, `Delete the contact ${printable(id)}?`)
  const { client } = await connect(options, io)
  const deleted = await client.contacts.delete(id)
  if (output.isJson()) return output.document(deleted)
  output.line(deleted.message)
}

function showOne({ output }: Context, found: { contact: Contact }): void {
  if (output.isJson()) return void output.document(found)
  const { id, name, phone, email, external_id, tags, attributes, subscriptions } = found.contact
  output.fields([
    ['id', id],
    ['name', name ?? ''],
    ['phone', phone ?? ''],
    ['email', email ?? ''],
    ['external id', external_id ?? ''],
    ['tags', tags.join(', ')],
    ['attributes', JSON.stringify(attributes)],
    ...Object.entries(subscriptions).map(([channel, state]): [string, string] => [channel, state]),
    ['created', found.contact.created_at],
    ['updated', found.contact.updated_at],
  ])
}
