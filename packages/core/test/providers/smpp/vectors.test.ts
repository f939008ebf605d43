import { readFileSync } from 'node:fs'
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { type PartsOptions, partsOf } from '../../../src/providers/smpp/message-parts.ts'
import { setSequence, submitSm } from '../../../src/providers/smpp/pdu.ts'
import { segments } from '../../../src/sms/segments.ts'
import { anyCharacter } from '../../any-character.ts'
import smpp from './smsc-library.ts'
import { readSubmission, type Submission } from './smsc-submission.ts'

interface Vector {
  id: number
  note: string
  text: string
  encoding: string
  segments: number
  parts: number[]
}
const file = new URL('../../segment-vectors.json', import.meta.url)
const { vectors } = JSON.parse(readFileSync(file, 'utf8')) as { vectors: Vector[] }
const texts = vectors.filter(({ text }) => text !== '')

const USUAL: PartsOptions = {
  alphabet: 'gsm',
  long_text: 'udh',
  max_parts: 255,
  reference: () => 77,
}

const PDU = smpp.PDU as unknown as new (
  octets: Buffer,
) => ConstructorParameters<typeof smpp.PDU>[1] & { command: string }

/** The parts of a text as an independent SMSC reads them. */
function partsRead(text: string, options: Partial<PartsOptions> = {}): Submission[] {
  const parts = partsOf(text, { ...USUAL, ...options })
  if (typeof parts === 'string') throw new Error(parts)
  return parts.map((part) => {
    const octets = submitSm({
      service_type: '',
      source: { ton: 3, npi: 0, digits: '12345' },
      destination: { ton: 1, npi: 1, digits: '14155550100' },
      validity_period: '',
      registered_delivery: 1,
      ...part,
    })
    setSequence(octets, 1)
    const pdu = new PDU(octets) as unknown as Parameters<typeof readSubmission>[0]
    expect(pdu.command).toBe('submit_sm')
    expect(pdu.toBuffer()).toEqual(octets)
    const read = readSubmission(pdu, 'svc', options.alphabet ?? 'gsm')
    if (typeof read === 'number') throw new Error(`refused with ${read}`)
    return read
  })
}

function joined(parts: Submission[]): string {
  return parts.map(({ text }) => text).join('')
}

/** Units without the header: septets, or UTF-16 code units. */
function unitsOf({ octets, udh, data_coding }: Submission): number {
  return (octets.length - (udh?.length ?? 0)) / (data_coding === 8 ? 2 : 1)
}

describe('each text of the vectors arrives in the parts of its price', () => {
  test.each(texts.map((vector) => [vector.id, vector.note, vector] as const))(
    '%i: %s',
    (_id, _note, { text, encoding, segments: count, parts }) => {
      const read = partsRead(text)
      expect(read).toHaveLength(count)
      expect(read.map(unitsOf)).toEqual(parts)
      expect(new Set(read.map(({ data_coding }) => data_coding))).toEqual(
        new Set([encoding === 'GSM-7' ? 0 : 8]),
      )
      expect(joined(read)).toBe(text.toWellFormed())
      const places = read.map(({ part }) => part)
      expect(places).toEqual(
        count === 1
          ? [null]
          : parts.map((_, i) => ({ by: 'udh8', reference: 77, total: count, number: i + 1 })),
      )
    },
  )

  test('with TLVs too', () => {
    for (const { text, segments: count, parts } of texts) {
      const read = partsRead(text, { long_text: 'sar' })
      expect(read.map(unitsOf)).toEqual(parts)
      expect(joined(read)).toBe(text.toWellFormed())
      for (const [i, { part, esm_class }] of read.entries()) {
        expect(esm_class).toBe(0)
        const place = { by: 'sar', reference: 77, total: count, number: i + 1 }
        expect(part).toEqual(count === 1 ? null : place)
      }
    }
  })

  test('in one piece if the SMSC cuts', () => {
    for (const { text, segments: count } of texts) {
      const read = partsRead(text, { long_text: 'payload' })
      expect(read).toHaveLength(1)
      expect(read[0]?.is_payload).toBe(count > 1)
      expect(joined(read)).toBe(text.toWellFormed())
    }
  })
})

test('any text arrives in the parts of its price', () => {
  const piece = fc.oneof(
    fc.constantFrom('a', '€', '[', '\n', 'Δ', 'я', '😀', '\u001b', '\0', 'e\u0301'),
    fc.string({ unit: anyCharacter, maxLength: 3 }),
  )
  const text = fc
    .array(fc.tuple(piece, fc.nat(80)), { minLength: 1, maxLength: 8 })
    .map((runs) => runs.map(([one, times]) => one.repeat(times + 1)).join(''))
    .filter((one) => one !== '')
  fc.assert(
    fc.property(text, fc.constantFrom('udh' as const, 'sar' as const), (one, long_text) => {
      const read = partsRead(one, { long_text })
      expect(read).toHaveLength(segments(one).segments)
      expect(joined(read)).toBe(one.toWellFormed())
    }),
    { numRuns: 60 },
  )
})

describe('an escape in a text', () => {
  test.each(['\u001be', 'pay \u001be 5', `${'a'.repeat(200)}\u001b(`])(
    'is never an escape on the wire: %j',
    (text) => {
      const read = partsRead(text)
      expect(read.every(({ data_coding }) => data_coding === 8)).toBe(true)
      expect(joined(read)).toBe(text)
    },
  )

  test('is written only before extension characters', () => {
    const [{ octets } = { octets: Buffer.alloc(0) }] = partsRead('a€[b]')
    expect(octets.toString('hex')).toBe('611b651b3c621b3e')
  })
})

describe('an SMSC with another alphabet', () => {
  test.each([
    ['latin1', 'Grüße, señor [£5]', 0],
    ['ascii', 'Plain [text] ~ {}', 0],
    ['latin1', 'Δ 5€', 8],
    ['ascii', 'Grüße', 8],
  ] as const)('receives in %s: %j with data_coding %i', (alphabet, text, coding) => {
    const read = partsRead(text, { alphabet })
    expect(read).toMatchObject([{ data_coding: coding, text }])
  })

  test('gets the parts of the price', () => {
    const text = '[]'.repeat(100)
    const read = partsRead(text, { alphabet: 'latin1' })
    expect(read.map((part) => part.text?.length)).toEqual([76, 76, 48])
    expect(joined(read)).toBe(text)
  })

  test('does not get in UCS-2 a long text that was priced in GSM-7', () => {
    const options = { ...USUAL, alphabet: 'latin1' as const }
    expect(partsOf(`€${'a'.repeat(69)}`, options)).toHaveLength(1)
    expect(partsOf(`€${'a'.repeat(70)}`, options)).toBe('alphabet')
    expect(partsOf(`€${'a'.repeat(300)}`, options)).toBe('alphabet')
    expect(partsOf(`я${'a'.repeat(300)}`, options)).toHaveLength(5)
  })
})

describe('the number of parts', () => {
  test('is at most 255', () => {
    const most = 'a'.repeat(255 * 153)
    const parts = partsOf(most, USUAL)
    expect(parts).toHaveLength(255)
    expect(Array.isArray(parts) && [...(parts[254]?.short_message.subarray(0, 6) ?? [])]).toEqual([
      5, 0, 3, 77, 255, 255,
    ])
    expect(partsOf(`${most}a`, USUAL)).toBe('too_many_parts')
  })

  test('is at most that of the settings', () => {
    const options = { ...USUAL, max_parts: 2 }
    expect(partsOf('a'.repeat(306), options)).toHaveLength(2)
    expect(partsOf('a'.repeat(307), options)).toBe('too_many_parts')
  })

  test('needs a reference only if it is more than one', () => {
    let calls = 0
    const reference = () => ++calls
    partsOf('a'.repeat(160), { ...USUAL, reference })
    expect(calls).toBe(0)
    partsOf('a'.repeat(161), { ...USUAL, reference })
    expect(calls).toBe(1)
  })
})
