import { beforeEach, describe, expect, it } from 'vitest'
import type { ContactsPreview, ReadRecipients } from '../src/console-api/console-answers.ts'
import type { Account } from './accounts.ts'
import { useWorld } from './world.ts'

const world = useWorld({ console: {} })

let owner: Account
let cookie: string
beforeEach(async () => {
  owner = await world().signup({ credits: 10 })
  const { email, password } = owner
  const { headers } = await world().app.inject({
    method: 'POST',
    url: '/console/api/session',
    headers: { 'sec-fetch-site': 'same-origin' },
    payload: { email, password },
  })
  cookie = `${headers['set-cookie']}`.split(';', 1)[0] ?? ''
})

async function post(path: string, payload: string | Buffer | object, type = 'text/csv') {
  const answer = await world().app.inject({
    method: 'POST',
    url: `/console/api${path}`,
    headers: { 'sec-fetch-site': 'same-origin', cookie, 'content-type': type },
    payload: type === 'text/csv' ? (payload as string) : JSON.stringify(payload),
  })
  return { status: answer.statusCode, body: answer.json() }
}

const preview = async (file: string | Buffer, query = '') =>
  (await post(`/contacts/preview${query}`, file)).body.data as ContactsPreview
const recipients = async (text: string | Buffer, channel = 'sms', query = '') =>
  (await post(`/recipients?channel=${channel}${query}`, text)).body.data as ReadRecipients
const contacts = async () =>
  (await world().call('GET', '/api/v1/contacts', { token: owner.token })).body.data.contacts

describe('the preview of an import', () => {
  it('says how the file was read, what the columns become and what an import would do', async () => {
    const file = Buffer.from('Vorname;Nachname;Handy;Größe\nJürg;Ott;0151 12345670;42\n', 'latin1')
    const found = await preview(file, '?default_country=de')
    expect(found).toEqual({
      file: {
        encoding: 'windows-1252',
        separator: ';',
        columns: [
          { name: 'Vorname', field: 'first_name', examples: ['Jürg'] },
          { name: 'Nachname', field: 'last_name', examples: ['Ott'] },
          { name: 'Handy', field: 'phone', examples: ['0151 12345670'] },
          { name: 'Größe', field: 'attributes.Größe', examples: ['42'] },
        ],
      },
      warnings: [],
      rows: [
        [
          2,
          ['Jürg', 'Ott', '0151 12345670', '42'],
          {
            name: 'Jürg Ott',
            phone: '+4915112345670',
            attributes: { first_name: 'Jürg', last_name: 'Ott', Größe: '42' },
          },
        ],
      ],
      created: 1,
      updated: 0,
      unchanged: 0,
      errors: [],
      fault: null,
    })
    expect(await contacts()).toEqual([])
  })

  it('gives contacts that the import of the API takes as they are', async () => {
    const { rows } = await preview('name,phone,tags\nAsha,+255 700 000 041,"vip;new"\n')
    const given = rows.map(([, , contact]) => contact)
    const done = await post('/v1/contacts/import', { contacts: given }, 'application/json')
    expect(done.body.data).toMatchObject({ created: 1, rejected: 0 })
    expect(await contacts()).toMatchObject([{ phone: '+255700000041', tags: ['vip', 'new'] }])
  })

  it('names the rows that would be rejected by their lines, also a second row with the address of another', async () => {
    const found = await preview(
      'external_id,name,phone\n1,"Two\nlines",+14155550100\n2,Ben,0700\n3,Cy,+14155550100\n4,Di,+14155550100\n1,Asha,\n',
    )
    expect(found.rows.map(([line]) => line)).toEqual([2, 4, 5, 6, 7])
    expect(found).toMatchObject({ created: 1, updated: 0 })
    expect(found.errors.map(({ index, path }) => [index, path])).toEqual([
      [0, 'name'],
      [1, 'phone'],
      [3, 'phone'],
      [4, ''],
    ])
  })

  it('finds over all its rows what an import in several requests would find', async () => {
    const rows = Array.from({ length: 1_200 }, (_, i) => `${i},+1415555${1000 + i}`)
    const again = ['0,+14155551000', 'x,+14155551001']
    const found = await preview(['external_id,phone', ...rows, ...again].join('\n'))
    expect(found).toMatchObject({ created: 1_200, unchanged: 1 })
    expect(found.errors).toMatchObject([{ index: 1_201, path: 'phone' }])
  })

  it('gives the rows before a line that cannot be read, and its line', async () => {
    const rows = Array.from({ length: 300 }, (_, i) => `+1415555${1000 + i}`)
    const found = await preview(['phone,name', ...rows.map((each) => `${each},A`), 'x'].join('\n'))
    expect(found.fault).toBe(
      'Request body must be valid CSV: line 302: it has another number of cells than the header',
    )
  })

  it('refuses what is no table of contacts, more rows than it takes, and other bodies', async () => {
    expect(await post('/contacts/preview', 'shoe,size\n1,2\n')).toMatchObject({
      status: 400,
      body: { message: expect.stringContaining('it needs a column named phone, email') },
    })
    expect(await post('/contacts/preview?default_country=XX', 'phone\n+1')).toMatchObject({
      status: 400,
      body: { details: [{ path: 'default_country' }] },
    })
    expect(await post('/contacts/preview', {}, 'application/json')).toMatchObject({ status: 400 })
    expect(await preview(`phone\n${'x\n'.repeat(50_001)}`)).toMatchObject({
      fault: 'The file has more than 50000 rows: divide it, or use svc contacts import',
    })
  })
})

describe('the recipients of a bulk', () => {
  it('are one per line or a cell, with their lines, also with separators in phone numbers', async () => {
    const text = '+1 (415) 555-2671\n\nasha@example.com, 00 43 (0)664/1234567\n0043-664.1234567\n'
    expect(await recipients(text)).toMatchObject({
      table: null,
      recipients: [
        { to: '+14155552671' },
        { to: 'asha@example.com' },
        { to: '+436641234567' },
        { to: '+436641234567' },
      ],
      lines: [1, 3, 3, 4],
      missing: 0,
    })
  })

  it('are columns with names; other columns are variables', async () => {
    const text = '\ufeffname;Mobile;Order\nAsha;+14155552671;"A;\n1"\nBen;;\n\n;foo;'
    expect(await recipients(text)).toMatchObject({
      table: {
        encoding: 'utf-8',
        separator: ';',
        columns: [
          { name: 'name', field: 'name' },
          { name: 'Mobile', field: 'to' },
          { name: 'Order', field: 'variable' },
        ],
      },
      recipients: [
        { to: '+14155552671', name: 'Asha', variables: { Order: 'A;\n1' } },
        { to: 'foo' },
      ],
      lines: [2, 6],
      missing: 1,
      faults: [{ line: 6, message: expect.stringContaining('"foo" is not a phone number') }],
    })
  })

  it('are those of a file in another encoding, with national numbers of a country', async () => {
    const file = Buffer.from('\ufeffVorname\tHandy\nJürg\t0151 12345670\n', 'utf16le')
    const found = await recipients(file, 'whatsapp', '&default_country=DE')
    expect(found.table).toMatchObject({ encoding: 'utf-16le', separator: '\t' })
    expect(found.recipients).toEqual([
      {
        to: '+4915112345670',
        name: 'Jürg',
        variables: { Vorname: 'Jürg', first_name: 'Jürg' },
      },
    ])
    expect((await recipients('0151 12345670\n', 'sms', '&default_country=DE')).recipients).toEqual([
      { to: '+4915112345670' },
    ])
  })

  it('have the variables of their headings, also of one that is a field of a contact', async () => {
    const text = 'to,Name,ID,E-Mail\n+14155552671,Asha,7,a@example.com'
    const [one] = (await recipients(text)).recipients
    expect(one).toMatchObject({ name: 'Asha', variables: { ID: '7', 'E-Mail': 'a@example.com' } })
  })

  it('are the rows of an export of contacts, by the channel', async () => {
    const text =
      'name,phone,email,attributes\r\n\'=Asha,+14155552671,,"{""city"":""Moshi"",""age"":7,""more"":{}}"\r\nBen,,ben@example.com,\r\n'
    expect(await recipients(text, 'whatsapp')).toMatchObject({
      recipients: [{ to: '+14155552671', name: '=Asha', variables: { city: 'Moshi', age: '7' } }],
      missing: 1,
    })
    expect(await recipients(text, 'email')).toMatchObject({
      recipients: [{ to: 'ben@example.com', name: 'Ben' }],
      missing: 1,
    })
  })

  it('are contacts, if a column names them', async () => {
    const { recipients: found } = await recipients('contact_id,city\nc1,Moshi\n')
    expect(found).toEqual([{ contact_id: 'c1', variables: { city: 'Moshi' } }])
  })

  it('need a known column, cells below the header, and are read up to the limit', async () => {
    const refusal = async (text: string) =>
      (await post('/recipients?channel=sms', text)).body.details?.[0]
    expect(await refusal('shoe,size\n1,2\n')).toEqual({
      path: 'recipients',
      message: 'Line 1: it has no column named to, phone or contact_id; its columns are shoe, size',
    })
    expect((await refusal('phone,name\n+14155552671,Asha,more'))?.message).toBe(
      'Line 2: it has more cells than the header',
    )
    const { bulkRecipientsMax: max } = world().core
    const found = await recipients('+14155552671\n'.repeat(max + 5))
    expect(found.recipients).toHaveLength(max + 1)
  })

  it('take a formula and a very long text for what they are', async () => {
    expect((await recipients('=cmd')).recipients).toEqual([{ to: '=cmd' }])
    const spaced = `+1${' '.repeat(100_000)}x`
    expect((await recipients(spaced)).recipients).toEqual([{ to: spaced }])
  })
})
