import { LIMITS } from '@svc/core/contract'
import { beforeEach, describe, expect, it } from 'vitest'
import type { Account } from './accounts.ts'
import { expectStatus } from './call.ts'
import { refusal } from './refusal.ts'
import { useWorld } from './world.ts'

const world = useWorld()

const CONTACTS = '/api/v1/contacts'
const IMPORT = `${CONTACTS}/import`
const DONE = { created: 0, updated: 0, unchanged: 0, rejected: 0, errors: [] }

let owner: Account
beforeEach(async () => {
  owner = await world().signup()
})

const post = (json: unknown, account = owner) =>
  world().call('POST', IMPORT, { token: account.token, json })
const postCsv = (raw: string | Buffer, type = 'text/csv', account = owner) =>
  world().call('POST', IMPORT, { token: account.token, raw, headers: { 'content-type': type } })
const imported = async (contacts: unknown[], account = owner) =>
  expectStatus(200, await post({ contacts }, account)).body.data
const importedCsv = async (raw: string | Buffer, account = owner) =>
  expectStatus(200, await postCsv(raw, 'text/csv', account)).body.data
const all = async (account = owner) => {
  const path = `${CONTACTS}/export`
  const answer = await world().call('GET', path, { token: account.token })
  return expectStatus(200, answer).body.data.contacts
}
const exportCsv = async (query = '', account = owner) => {
  const path = `${CONTACTS}/export?format=csv${query}`
  return expectStatus(200, await world().call('GET', path, { token: account.token }))
}
const refuse = (message: string) =>
  refusal('validation_error', `Request body must be valid CSV: ${message}`, '')

describe(`POST ${IMPORT} with JSON`, () => {
  it('creates new contacts, changes known ones, and counts unchanged ones', async () => {
    const kept = await world().contact(owner, { name: 'Kept', phone: '+255700000001' })
    await world().contact(owner, { name: 'Before', email: 'a@x.example', tags: ['a'] })
    await world().advance(1_000)
    const report = await imported([
      { name: 'Kept', phone: '+255700000001' },
      { name: 'After', email: 'A@X.example' },
      { name: 'New', phone: '+255700000002', external_id: 'n' },
    ])
    expect(report).toStrictEqual({ ...DONE, created: 1, updated: 1, unchanged: 1 })
    const contacts = await all()
    expect(contacts).toMatchObject([
      { name: 'New', external_id: 'n' },
      { name: 'After', email: 'A@X.example', tags: ['a'] },
      kept,
    ])
  })

  it('finds contacts by external_id, else by phone, else by e-mail', async () => {
    const byId = await world().contact(owner, { external_id: 'x' })
    const byPhone = await world().contact(owner, { phone: '+255700000002' })
    const byMail = await world().contact(owner, { email: 'c@x.example' })
    const report = await imported([
      { external_id: 'x', name: 'by id', phone: '+255700000009' },
      { external_id: 'new id', phone: '+255700000002', name: 'by phone' },
      { phone: '+255700000003', email: 'C@x.example', name: 'by mail' },
    ])
    expect(report).toStrictEqual({ ...DONE, updated: 3 })
    const found = (await all()).map(({ id, name }: { id: string; name: string }) => [id, name])
    expect(found).toStrictEqual([
      [byMail.id, 'by mail'],
      [byPhone.id, 'by phone'],
      [byId.id, 'by id'],
    ])
  })

  it('rejects invalid contacts one by one, with the reason', async () => {
    await world().contact(owner, { phone: '+255700000001', external_id: 'known' })
    await world().contact(owner, { email: 'taken@x.example', external_id: 'other' })
    const report = await imported([
      { phone: '0700' },
      { phone: '+255700000002' },
      { name: 'unknown' },
      'text',
      { phone: '+255700000001', external_id: 'another' },
      { external_id: 'known', email: 'taken@x.example' },
      { external_id: 'known', phone: null },
      { email: 'b@x.example', tags: ['a;b'] },
    ])
    expect(report).toStrictEqual({
      ...DONE,
      created: 1,
      rejected: 7,
      errors: [
        { index: 0, path: 'phone', message: 'Phone number must be in E.164 format' },
        { index: 2, path: '', message: 'Missing required field: phone or email' },
        { index: 3, path: '', message: 'A contact must be an object' },
        { index: 4, path: 'phone', message: 'A contact with this phone number already exists' },
        { index: 5, path: 'email', message: 'A contact with this email address already exists' },
        { index: 6, path: '', message: 'Missing required field: phone or email' },
        { index: 7, path: 'tags.0', message: 'Tags must not contain commas or semicolons' },
      ],
    })
    expect(await all()).toHaveLength(3)
  })

  it('processes contacts in their order: a later one finds what an earlier one created or released', async () => {
    await world().contact(owner, { external_id: 'a', phone: '+255700000001' })
    const report = await imported([
      { external_id: 'a', phone: '+255700000002' },
      { external_id: 'b', phone: '+255700000001' },
      { external_id: 'b', name: 'B' },
      { phone: '+255700000001', name: 'B' },
      { external_id: 'b', name: 'still B', phone: '+255700000003' },
      { external_id: 'a', phone: '+255700000001' },
    ])
    expect(report).toStrictEqual({ ...DONE, created: 1, updated: 4, unchanged: 1 })
    expect(await all()).toMatchObject([
      { external_id: 'b', phone: '+255700000003', name: 'still B' },
      { external_id: 'a', phone: '+255700000001' },
    ])
  })

  it('merges attributes as far as they fit, and replaces tags', async () => {
    const some = Object.fromEntries(Array.from({ length: 49 }, (_, i) => [`k${i}`, i]))
    await world().contact(owner, { external_id: 'a', tags: ['x'], attributes: some })
    expect(
      await imported([
        { external_id: 'a', tags: ['y'], attributes: { k0: 'new', k49: 1 } },
        { external_id: 'a', attributes: { k50: 1 } },
      ]),
    ).toMatchObject({
      updated: 1,
      errors: [{ index: 1, path: 'attributes', message: 'Attributes must have at most 50 keys' }],
    })
    expect(await all()).toMatchObject([{ tags: ['y'], attributes: { ...some, k0: 'new', k49: 1 } }])
  })

  it('keeps opt-outs, and adds those in the import', async () => {
    await world().suppression(owner, { address: '+255700000001', reason: 'opt_out' })
    await imported([
      { phone: '+255700000001', subscriptions: { sms: 'subscribed', voice: 'unsubscribed' } },
    ])
    expect(await all()).toMatchObject([
      { subscriptions: { sms: 'unsubscribed', voice: 'unsubscribed' } },
    ])
    const path = `${CONTACTS}/suppressions?channel=voice`
    const { body } = await world().call('GET', path, { token: owner.token })
    expect(body.data.suppressions).toMatchObject([{ address: '+255700000001', reason: 'opt_out' }])
  })

  it('changes no contact of another workspace', async () => {
    const other = await world().signup()
    const theirs = await world().contact(other, { phone: '+255700000001', external_id: 'x' })
    expect(await imported([{ phone: '+255700000001', external_id: 'x', name: 'ours' }])).toEqual({
      ...DONE,
      created: 1,
    })
    expect(await all(other)).toStrictEqual([theirs])
  })

  it('creates each contact once in concurrent imports', async () => {
    const contacts = Array.from({ length: 120 }, (_, i) => ({
      external_id: `${i}`,
      phone: phone(i),
    }))
    const reports = await Promise.all([imported(contacts), imported(contacts.toReversed())])
    expect(reports.map(({ created }) => created).reduce((a, b) => a + b)).toBe(120)
    expect(reports.map(({ rejected }) => rejected)).toStrictEqual([0, 0])
    expect(await all()).toHaveLength(120)
  })

  it.each([
    [{}, 'Missing required field: contacts', 'contacts'],
    [{ contacts: {} }, 'contacts must be an array', 'contacts'],
    [{ contacts: [] }, 'contacts must have at least 1 item', 'contacts'],
    [
      { contacts: Array(LIMITS.contact_import_rows + 1).fill({}) },
      'contacts must have at most 10000 items',
      'contacts',
    ],
  ])('returns 400 for the complete import, case %#', async (json, message, path) => {
    const { status, body } = await post(json)
    expect([status, body]).toStrictEqual([400, refusal('validation_error', message, path)])
  })

  it('returns 400 for a body over 4 MB, in either form', async () => {
    const large = 'x'.repeat(LIMITS.contact_import_body_bytes)
    const message = 'Request body is too large'
    const bodies = [await post({ contacts: [large] }), await postCsv(`phone\n${large}`)]
    for (const { status, body } of bodies) {
      expect([status, body]).toStrictEqual([400, refusal('validation_error', message, '')])
    }
  })

  it.each(['text/plain', 'application/xml', 'multipart/form-data'])(
    'returns 400 for %s',
    async (type) => {
      const { status, body } = await postCsv('phone\n+255700000001', type)
      const message = 'Content-Type must be application/json or text/csv'
      expect([status, body]).toStrictEqual([400, refusal('validation_error', message, '')])
    },
  )

  it('is the only endpoint that accepts CSV', async () => {
    const headers = { 'content-type': 'text/csv' }
    const options = { token: owner.token, raw: 'phone\n+255700000001', headers }
    const { status, body } = await world().call('POST', CONTACTS, options)
    const message = 'Content-Type must be application/json'
    expect([status, body]).toStrictEqual([400, refusal('validation_error', message, '')])
  })
})

describe(`POST ${IMPORT} with CSV`, () => {
  it('accepts quotes, CRLF, a byte order mark, empty lines and any order of columns', async () => {
    const csv =
      '\ufeffName,Shoe Size,phone,TAGS,external_id,City\r\n' +
      '"Kimani, ""Neema""\r\n",x,+255700000001,"vip; new",crm-1,Dodoma\r\n\r\n' +
      'Żółw,, +255700000002 ,"a,b",,\r\n'
    const report = await importedCsv(csv)
    // A name has one line.
    expect(report.errors).toStrictEqual([
      { index: 0, line: 2, path: 'name', message: 'Text must be one line' },
    ])
    await importedCsv(csv.replace('""Neema""\r\n', '""Neema""'))
    expect(await all()).toMatchObject([
      {
        name: 'Kimani, "Neema"',
        phone: '+255700000001',
        tags: ['vip', 'new'],
        external_id: 'crm-1',
        attributes: { 'Shoe Size': 'x', City: 'Dodoma' },
      },
      { name: 'Żółw', phone: '+255700000002', tags: ['a', 'b'], external_id: null, attributes: {} },
    ])
  })

  it('accepts semicolons, and lines that end with LF, with CR or without either', async () => {
    const report = await importedCsv('phone;name\n+255700000001;A\n+255700000002;B')
    expect(report.created).toBe(2)
    expect((await importedCsv('phone,name\r+255700000001,A\r')).unchanged).toBe(1)
  })

  it('keeps a field unchanged for an empty cell', async () => {
    await world().contact(owner, { phone: '+255700000001', name: 'Asha', tags: ['a'] })
    const report = await importedCsv('phone,name,tags,email\n+255700000001,,,\n')
    expect(report).toStrictEqual({ ...DONE, unchanged: 1 })
  })

  it('rejects a single row, with its position under the header', async () => {
    const csv =
      'phone,attributes\n+255700000001,"{""a"":1}"\n0700,\n+255700000002,{a\n+255700000003,7\n'
    expect(await importedCsv(csv)).toMatchObject({
      created: 1,
      errors: [
        { index: 1, path: 'phone' },
        { index: 2, path: 'attributes', message: 'attributes must be an object' },
        { index: 3, path: 'attributes' },
      ],
    })
  })

  it('rejects a row whose cell has too many items or values', async () => {
    const members = Object.fromEntries(Array.from({ length: 10_000 }, (_, i) => [`k${i}`, 1]))
    const attributes = JSON.stringify(members).replaceAll('"', '""')
    const csv = [
      'phone,tags,unsubscribed,attributes',
      `+255700000001,a${';'.repeat(1_000)},,`,
      `+255700000002,,"${'sms,'.repeat(1_000)}",`,
      `+255700000003,,,"${attributes}"`,
      '+255700000004,"a, b;c",sms,"{""a"":1}"',
    ]
    expect(await importedCsv(csv.join('\n'))).toMatchObject({
      created: 1,
      errors: [
        { index: 0, path: 'tags', message: 'tags must be an array' },
        { index: 1, path: 'subscriptions', message: 'subscriptions must be an object' },
        { index: 2, path: 'attributes', message: 'attributes must be an object' },
      ],
    })
  })

  it('keeps a column named __proto__ like any other', async () => {
    await importedCsv('phone,__proto__\n+255700000001,x\n')
    const { body } = await world().call('GET', CONTACTS, { token: owner.token })
    expect(Object.entries(body.data.contacts[0].attributes)).toStrictEqual([['__proto__', 'x']])
  })

  it.each([
    ['', 'it needs a header row'],
    ['\n\n', 'it needs a header row'],
    [
      'name,city\nAsha,Dodoma\n',
      'it needs a column named phone, email, external_id; its columns are name, city',
    ],
    ['phone,,name\n+255700000001,x,a\n', 'column 2 has no name'],
    ['phone,PHONE\n', 'columns 1 and 2 are both named phone'],
    ['phone,name\n+255700000001\n', 'line 2: it has another number of cells than the header'],
    ['phone,name\n+255700000001,a,b\n', 'line 2: it has another number of cells than the header'],
    ['phone,name\n+1,"a\n', 'line 2: a quote is not closed'],
    ['phone,name\n+1,a "b"\n', 'line 2: a quote is in a wrong place'],
    ['phone,name\n+1,"a"b\n', 'line 2: a quote is in a wrong place'],
    ['phone,name\n+1,a\0\n', 'line 2: the character U+0000 is not allowed'],
    [
      Buffer.from('phone,name é\n+1,\xff\n'.replace('é', '\xc3\xa9'), 'latin1'),
      'line 2: it is not UTF-8',
    ],
    [`phone,${Array.from({ length: 250 }, (_, i) => `c${i}`)}`, 'it has more than 250 columns'],
  ])('returns 400 for %j and creates no contact', async (raw, message) => {
    const { status, body } = await postCsv(raw)
    expect([status, body]).toStrictEqual([400, refuse(message)])
    expect(await all()).toStrictEqual([])
  })

  it('returns 400 for too many rows', async () => {
    const rows = Array.from({ length: LIMITS.contact_import_rows + 1 }, (_, i) => phone(i))
    const { status, body } = await postCsv(`phone\n${rows.join('\n')}`)
    const message = 'contacts must have at most 10000 items'
    expect([status, body]).toStrictEqual([400, refusal('validation_error', message, 'contacts')])
  })
})

describe(`POST ${IMPORT} with the files that people have`, () => {
  const send = (raw: string | Buffer, query = '', type = 'text/csv') =>
    world().call('POST', `${IMPORT}${query}`, {
      token: owner.token,
      raw,
      headers: { 'content-type': type },
    })

  it("takes a German spreadsheet's export in Windows-1252, and names scientific notation by line", async () => {
    const csv =
      'Vorname;Nachname;E-Mail;Handy;Ort\r\nJörg;Müller;joerg@example.com;0151 / 12345670;Köln\r\n' +
      'Ann;"Two\r\nlines";;4,91511E+12;\r\n;;;;\r\nÄnne;;;+43 (0)664 1234567;\r\n'
    const { body } = expectStatus(
      200,
      await send(Buffer.from(csv, 'latin1'), '?default_country=de'),
    )
    expect(body.data).toMatchObject({
      created: 2,
      rejected: 1,
      errors: [
        {
          index: 1,
          line: 3,
          path: 'phone',
          message: expect.stringContaining('scientific notation'),
        },
      ],
    })
    expect(await all()).toMatchObject([
      { name: 'Änne', phone: '+436641234567' },
      {
        name: 'Jörg Müller',
        phone: '+4915112345670',
        email: 'joerg@example.com',
        attributes: { first_name: 'Jörg', last_name: 'Müller', Ort: 'Köln' },
      },
    ])
  })

  it('takes UTF-16 with tabs as Excel writes it, and the encoding of Content-Type', async () => {
    const wide = Buffer.from('\ufeffName\tMobile\nŻółw\t+48 512 345 678\n', 'utf16le')
    expectStatus(200, await send(wide))
    const cyrillic = Buffer.from([
      ...Buffer.from('name,phone\n'),
      0xc8,
      0xe2,
      ...Buffer.from(',+7 912 345-67-89\n'),
    ])
    expectStatus(200, await send(cyrillic, '', 'text/csv; charset=windows-1251'))
    expect(await all()).toMatchObject([
      { name: 'Ив', phone: '+79123456789' },
      { name: 'Żółw', phone: '+48512345678' },
    ])
    const { status, body } = await send('phone\n+255700000001', '', 'text/csv; charset=klingon')
    expect([status, body]).toStrictEqual([400, refuse('the character set "klingon" is not known')])
  })

  it("takes Google's export", async () => {
    const csv =
      'Name,Given Name,Family Name,Group Membership,E-mail 1 - Value,Phone 1 - Type,Phone 1 - Value,Photo\n' +
      'Ada Lovelace,Ada,Lovelace,* myContacts ::: VIP,a@example.com ::: b@example.com,Mobile,+44 7700 900123,x\n'
    expectStatus(200, await send(csv))
    expect(await all()).toMatchObject([
      {
        name: 'Ada Lovelace',
        phone: '+447700900123',
        email: 'a@example.com',
        tags: ['VIP'],
        attributes: { first_name: 'Ada', last_name: 'Lovelace', other_emails: ['b@example.com'] },
      },
    ])
  })

  it('reports with dry_run what it would do, and stores nothing', async () => {
    await world().contact(owner, { phone: '+255700000001', name: 'Before' })
    const rows = Array.from(
      { length: 60 },
      (_, i) => `+25570000${String(i % 55).padStart(4, '0')};x${i}`,
    )
    const csv = `sep=;\nphone;Name\n${rows.join('\n')}\n0700;y\n`
    const before = await all()
    const trial = expectStatus(200, await send(csv, '?dry_run=true')).body.data
    expect(trial).toMatchObject({
      errors: [{ line: 63 }],
      file: {
        encoding: 'utf-8',
        separator: ';',
        columns: [
          { name: 'phone', field: 'phone', examples: expect.arrayContaining([]) },
          { name: 'Name', field: 'name', examples: ['x0', 'x1', 'x2'] },
        ],
      },
    })
    expect(await all()).toStrictEqual(before)
    const { file: _, ...counts } = trial
    expect(expectStatus(200, await send(csv)).body.data).toStrictEqual(counts)
  })

  it('says what columns are by the caller, and refuses to lose addresses', async () => {
    const csv = 'external_id,Kontakt\n7,ada@example.com\n'
    const lost =
      'the column Kontakt has e-mail addresses, and its heading is not known: name it email, or say with "columns" what it is'
    const refused = await send(csv)
    expect([refused.status, refused.body]).toStrictEqual([400, refuse(lost)])
    const columns = encodeURIComponent('{"Kontakt":"email"}')
    expectStatus(200, await send(csv, `?columns=${columns}`))
    expect(await all()).toMatchObject([{ external_id: '7', email: 'ada@example.com' }])
    const warned = await send('email,Kontakt\nada@example.com,ben@example.com\n', '?dry_run=true')
    expect(expectStatus(200, warned).body.data.warnings).toEqual([
      'The column Kontakt has e-mail addresses, but is imported as an attribute, because another column is the email',
    ])
  })

  it.each([
    ['?default_country=Germany', 'default_country', 'default_country must be an ISO 3166-1 code'],
    ['?default_country=XX', 'default_country', 'The phone numbers of XX are not known'],
    ['?dry_run=maybe', 'dry_run', 'dry_run'],
    ['?columns=7', 'columns', 'columns must be a JSON object'],
  ])('returns 400 for %s', async (query, path, message) => {
    const { status, body } = await send('phone\n+255700000001', query)
    expect([status, body.details[0].path]).toEqual([400, path])
    expect(body.message).toContain(message)
  })

  it('takes dry_run in JSON too', async () => {
    const json = { contacts: [{ phone: '+255700000001' }], dry_run: true }
    expect(expectStatus(200, await post(json)).body.data).toStrictEqual({ ...DONE, created: 1 })
    expect(await all()).toStrictEqual([])
  })
})

describe(`GET ${CONTACTS}/export`, () => {
  const NASTY = [
    { name: '=1+1', email: 'a@x.example', external_id: '-2+3', tags: ['=cmd', '@b'] },
    { name: "'=1", phone: '+255700000001', external_id: "''+x" },
    {
      name: 'a "quoted", b; c',
      email: '=a@x.example',
      attributes: { formula: '=1', n: [1, null] },
    },
    { name: "' o'hara ", phone: '+255700000002', tags: ['ünder'], external_id: '＝1' },
    {
      phone: '+255700000003',
      email: 'full@x.example',
      attributes: { name: 'not the name', ' ': '' },
      subscriptions: { sms: 'unsubscribed', email: 'unsubscribed' },
    },
  ]
  /** The fields of a contact that an import sets. */
  const known = (contacts: Record<string, unknown>[]) =>
    contacts.map(({ id: _, created_at: __, updated_at: ___, ...own }) => own)

  beforeEach(async () => {
    for (const contact of NASTY) await world().contact(owner, contact)
  })

  it('returns CSV with a file name for format=csv', async () => {
    const { text, headers } = await exportCsv('&search=full')
    expect(headers).toMatchObject({
      'content-type': 'text/csv; charset=utf-8',
      'content-disposition': 'attachment; filename="contacts.csv"',
    })
    const [{ id }] = (await all()) as [{ id: string }]
    const at = world().now().toISOString()
    expect(text).toBe(
      'id,name,phone,email,external_id,tags,attributes,unsubscribed,created_at,updated_at\r\n' +
        `${id},,+255700000003,full@x.example,,,"{""name"":""not the name"","" "":""""}","sms;email",${at},${at}\r\n`,
    )
  })

  it('contains no cell that a spreadsheet would run; phone numbers stay unchanged', async () => {
    const { text } = await exportCsv()
    const cells = [...text.matchAll(/"((?:[^"]|"")*)"|[^,"\r\n]+/g)].map(
      (cell) => cell[1] ?? cell[0],
    )
    for (const cell of cells) expect(cell).not.toMatch(/^[=@\-＝]|^\+(?!\d+$)/)
    expect(cells).toContain("'=1+1")
    expect(cells).toContain('+255700000001')
  })

  it.each(['csv', 'json'])(
    'restores the contacts by an import of %s into another workspace',
    async (format) => {
      const other = await world().signup()
      const report =
        format === 'csv'
          ? await importedCsv((await exportCsv()).text, other)
          : await imported(await all(), other)
      expect(report).toStrictEqual({ ...DONE, created: NASTY.length })
      expect(known((await all(other)).reverse())).toStrictEqual(known(await all()))
    },
  )

  it('changes no contact of the same workspace', async () => {
    const { text } = await exportCsv()
    expect(await importedCsv(text)).toStrictEqual({ ...DONE, unchanged: NASTY.length })
  })

  it('accepts the filters of the list', async () => {
    const names = async (query: string) => {
      const path = `${CONTACTS}/export?format=json&${query}`
      const { body, headers } = await world().call('GET', path, { token: owner.token })
      expect(headers['content-disposition']).toBe('attachment; filename="contacts.json"')
      return body.data.contacts.map(({ name }: { name: string }) => name)
    }
    expect(await names('search=QUOTED')).toStrictEqual(['a "quoted", b; c'])
    expect(await names(`tag=${encodeURIComponent('ünder')}`)).toStrictEqual(["' o'hara "])
    expect(await names('search=unknown')).toStrictEqual([])
    expect((await exportCsv('&search=unknown')).text).toMatch(/^id,[a-z_,]+\r\n$/)
  })

  it.each([
    ['format=xml', 'format must be one of: json, csv', 'format'],
    ['tag=', 'tag must not be empty', 'tag'],
  ])('returns 400 for %s', async (query, message, path) => {
    const { token } = owner
    const { status, body } = await world().call('GET', `${CONTACTS}/export?${query}`, { token })
    expect([status, body]).toStrictEqual([400, refusal('validation_error', message, path)])
  })
})

describe('the maximum of one import', () => {
  it('imports and exports completely, while other requests are served', async () => {
    const count = LIMITS.contact_import_rows
    const rows = Array.from({ length: count }, (_, i) => `${phone(i)},Name ${i},"a;b",Dodoma`)
    let isDone = false
    let answered = 0
    const watch = async () => {
      while (!isDone) {
        await world().call('GET', '/api/v1/account', { token: owner.token })
        answered += 1
        await new Promise((resolve) => setImmediate(resolve))
      }
    }
    const watching = watch()
    const report = await importedCsv(['phone,name,tags,city', ...rows].join('\n'))
    const { text } = await exportCsv()
    isDone = true
    await watching
    expect(report).toStrictEqual({ ...DONE, created: count })
    expect(text.split('\r\n')).toHaveLength(count + 2)
    // A few, if the import did not pause for them.
    expect(answered).toBeGreaterThan(20)
  }, 60_000)
})

function phone(i: number): string {
  return `+2557${String(i).padStart(8, '0')}`
}
