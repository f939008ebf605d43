import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { mapColumns } from './columns.ts'
import { fieldNamed } from './headings.ts'
import { readPerson } from './people.ts'
import { readPhone } from './phone-numbers.ts'
import { recipientColumnsOf } from './recipients.ts'

/** The fields of a header, and the person of its first row. */
function read(header: string[], row: string[], country?: 'DE' | 'US') {
  const { columns, warnings } = mapColumns(header, { sample: [row] })
  const person = readPerson(columns, row, country)
  return { fields: columns.map(({ field }) => field), person, warnings }
}

describe('fieldNamed', () => {
  it.each([
    [
      'phone',
      'Mobile, Phone 1 - Value, Handynummer, Téléphone portable, TELEFONO, Número de teléfono, Celular, Cellulare',
    ],
    [
      'phone',
      'Namba ya simu, Phone_Number, mobile-phone, Tel., Rufnummer, Telemóvel, Business Phone 2, Телефон, 手机号码',
    ],
    [
      'email',
      'E-Mail, E-mail 1 - Value, e_mail, E-mail 2 Address, E-Mail-Adresse, Courriel, Correo electrónico, E‑Mail',
    ],
    [
      'email',
      'Correio eletrônico, Barua pepe, Indirizzo e-mail, Endereço de e-mail, Электронная почта, メールアドレス',
    ],
    ['first_name', 'Vorname, Given Name, PRENOM, Prénom, First_Name, Primeiro nome'],
    [
      'last_name',
      'Nachname, Family Name, Apellidos, Sobrenome, Cognome, Nom de famille, Jina la ukoo',
    ],
    ['name', 'Name, Full Name, Nom, Nombre completo, Jina'],
    ['tags', 'Labels, Group Membership, Étiquettes'],
  ])('finds %s in %s', (field, headings) => {
    for (const heading of headings.split(', '))
      expect([heading, fieldNamed(heading)?.field]).toEqual([heading, field])
  })

  it.each([
    'Phone 1 - Label',
    'Phone 1 - Type',
    'Home Fax',
    'Address 1 - City',
    'CEP',
    'Ad',
    'City',
    'Order 2',
  ])('does not know %s', (heading) => expect(fieldNamed(heading)).toBeNull())
})

describe('readPerson', () => {
  it("reads Google's export: several values, labels, and few of its other columns", () => {
    const header = [
      'First Name',
      'Middle Name',
      'Last Name',
      'Phonetic First Name',
      'Organization Name',
      'Notes',
      'Labels',
      'E-mail 1 - Label',
      'E-mail 1 - Value',
      'Phone 1 - Label',
      'Phone 1 - Value',
      'Phone 2 - Label',
      'Phone 2 - Value',
      'Phone 3 - Label',
      'Phone 3 - Value',
      'Address 1 - City',
    ]
    const row = [
      'Ada',
      '',
      'Lovelace',
      '',
      'Engines Ltd',
      'private',
      '* myContacts ::: VIP',
      '',
      'ada@example.com ::: ada@example.org',
      'Home',
      '+44 20 7946 0018',
      'Mobile',
      '+44 7700 900123',
      'Work Fax',
      '+44 20 7946 0019',
      'London',
    ]
    const { person } = read(header, row)
    expect(person).toMatchObject({
      name: 'Ada Lovelace',
      phone: '+447700900123',
      email: 'ada@example.com',
      fault: null,
      more: { phones: ['+442079460018'], emails: ['ada@example.org'] },
      attributes: [
        ['company', 'Engines Ltd'],
        ['city', 'London'],
      ],
    })
  })

  it('takes the first address of a row that is one', () => {
    const { person } = read(['Name', 'E-mail 1 - Value'], ['Ada', 'none ::: ada@example.com'])
    expect(person).toMatchObject({ email: 'ada@example.com', fault: null })
  })

  it("reads Outlook's export: the mobile phone before others, and no fax or street", () => {
    const header = [
      'First Name',
      'Last Name',
      'Company',
      'Business Street',
      'Business Fax',
      'Business Phone',
      'Mobile Phone',
      'E-mail Address',
      'E-mail Type',
      'E-mail Display Name',
      'E-mail 2 Address',
    ]
    const row = [
      'Ada',
      'Lovelace',
      'Engines',
      'x',
      '1',
      '(415) 555-2671',
      '415-555-2672',
      '',
      'SMTP',
      'Ada',
      'ada@example.com',
    ]
    expect(read(header, row, 'US').person).toMatchObject({
      phone: '+14155552672',
      more: { phones: ['+14155552671'] },
      email: 'ada@example.com',
      attributes: [['company', 'Engines']],
    })
  })

  it.each([
    [['Vorname', 'Nachname'], ['Ada', 'Lovelace'], 'Ada Lovelace'],
    [['Vorname', 'Name'], ['Ada', 'Lovelace'], 'Ada Lovelace'],
    [['Prénom', 'Nom'], ['Ada', 'Lovelace'], 'Ada Lovelace'],
    [['Nombre', 'Apellidos'], ['Ada', 'Lovelace'], 'Ada Lovelace'],
    [['Name', 'Given Name', 'Family Name'], ['Lady Ada', 'Ada', 'Lovelace'], 'Lady Ada'],
    [['First name', 'Name'], ['Ada', 'Ada Lovelace'], 'Ada Lovelace'],
    [['Last name', 'First name'], ['Lovelace', ''], 'Lovelace'],
  ])('joins the name of %j', (header, row, name) => {
    expect(read([...header, 'phone'], [...row, '+1']).person.name).toBe(name)
  })

  it('takes the first number that can be read, and keeps the others', () => {
    const { person } = read(
      ['Phone', 'Telefon', 'E-Mail'],
      ['none', '+49 30 901820; 0049 30 901821', 'Ada <ada@example.com>'],
    )
    expect(person).toMatchObject({
      phone: '+4930901820',
      fault: null,
      email: 'ada@example.com',
      more: { phones: ['none', '+4930901821'], emails: [] },
    })
  })

  it('warns of a second column of addresses, and refuses the only one if its heading is unknown', () => {
    expect(read(['E-Mail', 'Kontakt'], ['a@example.com', 'b@example.com']).warnings).toHaveLength(1)
    const kontakt = { sample: [['1', '+49 151 12345670']] }
    expect(() => mapColumns(['external_id', 'Kontakt'], kontakt)).toThrow(
      'the column Kontakt has phone numbers',
    )
    const chosen = { Kontakt: 'attribute' }
    expect(mapColumns(['external_id', 'kontakt'], { ...kontakt, chosen }).warnings).toEqual([])
    expect(() => mapColumns(['a'], { sample: [], chosen: { b: 'phone' } })).toThrow(
      'no column named b',
    )
    expect(() => mapColumns(['a'], { sample: [], chosen: { a: 'fax' } })).toThrow('cannot be fax')
    expect(() => mapColumns(['+49 151 12345670', 'Ada'], { sample: [] })).toThrow(
      'it needs a header row',
    )
  })
})

describe('readPhone', () => {
  it.each([
    ['+49 151 1234 5670', undefined, '+4915112345670'],
    ['0049 151/12345670', undefined, '+4915112345670'],
    ['+43 (0)664 1234567', undefined, '+436641234567'],
    ['\u202a+49\u00a0151\u00a01234\u00a05670\u202c', undefined, '+4915112345670'],
    ['＋49 151 12345670', undefined, '+4915112345670'],
    ['tel:+49-151-12345670', undefined, '+4915112345670'],
    ['+52 1 55 1234 5678', undefined, '+5215512345678'],
    ['+39 06 698 1234', undefined, '+39066981234'],
    ['(415) 555-2671', 'US', '+14155552671'],
    ['415.555.2671', 'US', '+14155552671'],
    ['0151 / 12345670', 'DE', '+4915112345670'],
    ['4915112345670', 'DE', '+4915112345670'],
    ['255700000001', 'DE', '+255700000001'],
    ['15112345670.0', 'DE', '+4915112345670'],
    ['+255700000001', 'DE', '+255700000001'],
    ['06 698 1234', 'IT', '+39066981234'],
  ] as const)('reads %j in %s as %s', (text, country, phone) => {
    expect(readPhone(text, country)).toEqual({ phone })
  })

  it.each([
    ['4.91511E+12', 'DE', 'is in scientific notation'],
    [
      '4,91511E+12',
      undefined,
      'format the column as text in the spreadsheet, and export the file again',
    ],
    ['4.91511e12', 'DE', 'scientific'],
    ['0151 1234567', undefined, 'has no country code; set default_country'],
    ['255700000001', undefined, 'has no country code'],
    ['+43 664 12345 / 67', undefined, 'has another number or an extension'],
    ['+1 415 555 0100 x12', undefined, 'has another number or an extension'],
    ['0151 12345670 / 0171 2345678', 'DE', 'has another number'],
    ['0700', 'DE', 'is not a phone number'],
    ['call me', 'DE', 'is not a phone number'],
    ['', 'DE', 'is not a phone number'],
  ] as const)('refuses %j in %s: %s', (text, country, fault) => {
    expect(readPhone(text, country).fault).toContain(fault)
  })

  it('gives a number in E.164 or a fault for every text', () => {
    const unit = fc.constantFrom(...'+0123456789()-/. exE\u202a＋,;'.split(''))
    fc.assert(
      fc.property(
        fc.string({ unit, maxLength: 30 }),
        fc.constantFrom('DE', 'US', undefined),
        (text, country) => {
          const { phone, fault } = readPhone(text, country as 'DE')
          expect(phone === undefined ? fault : phone).toMatch(
            phone === undefined ? /./ : /^\+[1-9]\d{1,14}$/,
          )
        },
      ),
      { seed: 20_261_128, numRuns: 3_000 },
    )
  })
})

describe('recipientColumnsOf', () => {
  it('takes the address by the channel, the joined name, and values by headings and fields', () => {
    const header = ['Vorname', 'Nachname', 'Handy', 'Telefon', 'E-Mail', 'Ort']
    const row = ['Ada', 'Lovelace', '', '0151 12345670', 'ada@example.com', 'Köln']
    const sms = recipientColumnsOf(header, { channel: 'sms' })?.read(row, 'DE')
    expect(sms).toMatchObject({ to: '+4915112345670', name: 'Ada Lovelace', fault: null })
    expect(Object.fromEntries(sms?.values ?? [])).toMatchObject({
      Vorname: 'Ada',
      first_name: 'Ada',
      'E-Mail': 'ada@example.com',
      email: 'ada@example.com',
      Ort: 'Köln',
    })
    expect(recipientColumnsOf(header, { channel: 'email' })?.read(row, undefined).to).toBe(
      'ada@example.com',
    )
    expect(recipientColumnsOf(['Vorname', 'Ort'], { channel: 'sms' })).toBeNull()
  })
})
