import { beforeEach, describe, expect, it } from 'vitest'
import type { ProviderTemplate, TemplateList, Traits } from '../contract/outside/provider.ts'
import { type ApprovedTemplates, createApprovedTemplates } from './approved-templates.ts'

const MINUTE_MS = 60_000
const ORDER = { name: 'order', language: 'en' }
const SALE = { name: 'sale', language: 'en' }
const SALE_PAUSED =
  'The WhatsApp template sale (en) has the status PAUSED: only approved templates can be sent'

let approved: ApprovedTemplates
let clock_ms: number
let readings: string[]
let warnings: object[]
/** What the next readings answer. */
let answer: () => TemplateList | Promise<TemplateList>

function listed(statuses: Record<string, string>): TemplateList {
  const templates = Object.entries(statuses).map(([name, status]) => ({
    ...{ name, language: 'en', status },
    is_approved: status === 'APPROVED',
  }))
  return { type: 'listed', templates, ids: { shop: ORDER, old: SALE } }
}

/** `providers`: their traits; a boolean: whether they list their templates. */
function open(providers: Record<string, boolean | Partial<Traits>> = { wa: true }) {
  const traits = new Map(
    Object.entries(providers).map(([name, given]) => [
      name,
      (typeof given === 'boolean' ? { lists_templates: given } : given) as Traits,
    ]),
  )
  approved = createApprovedTemplates({
    carriers: {
      of: () => Object.keys(providers).map((provider) => ({ provider, sender: null })),
      traits,
    },
    open: async (name) => ({
      templates: async () => {
        readings.push(name)
        return answer()
      },
    }),
    elapsed: () => clock_ms,
    now: () => new Date(clock_ms),
    log: { warn: (fields: object) => void warnings.push(fields) } as never,
  })
}

beforeEach(() => {
  clock_ms = 1_000_000
  readings = []
  warnings = []
  answer = () => listed({ order: 'APPROVED', sale: 'PAUSED' })
  open()
})

/** Lets the next readings wait for the answer that the returned function gives. */
function later(): (list: TemplateList) => void {
  let done: (list: TemplateList) => void = () => {}
  const answered = new Promise<TemplateList>((resolve) => {
    done = resolve
  })
  answer = () => answered
  return done
}

const fault = (template: Parameters<ApprovedTemplates['fault']>[1]) =>
  approved.fault(undefined, template)

describe('the approved templates', () => {
  it('are read with the first message, once for all that wait', async () => {
    const all = await Promise.all([fault(ORDER), fault(SALE), fault({ ...ORDER, language: 'de' })])
    expect(all).toEqual([
      null,
      SALE_PAUSED,
      'No provider has approved the WhatsApp template order (de)',
    ])
    expect(readings).toEqual(['wa'])
    // An approved template waits for nothing.
    expect(fault(ORDER)).toBeNull()
    expect(fault(SALE)).toBe(SALE_PAUSED)
    expect(readings).toEqual(['wa'])
  })

  it('are found by the ids of the settings', async () => {
    expect(await fault({ id: 'shop' })).toBeNull()
    expect(await fault({ id: 'old' })).toContain('template old has the status PAUSED')
    expect(await fault({ id: 'gone' })).toBe('No provider has approved the WhatsApp template gone')
    expect(await fault({ id: 'toString' })).toContain('No provider has approved')
    expect(await fault({ id: 'shop', language: 'de' })).toContain('shop (de)')
  })

  it('are read once more, at most once a minute, for a template that is not approved', async () => {
    expect(await fault(SALE)).toBe(SALE_PAUSED)
    answer = () => listed({ sale: 'APPROVED' })
    clock_ms += MINUTE_MS - 1
    expect(fault(SALE)).toBe(SALE_PAUSED)
    clock_ms += 1
    expect(await Promise.all([fault(SALE), fault(SALE)])).toEqual([null, null])
    expect(readings).toHaveLength(2)
  })

  it('are read again beside the messages every ten minutes', async () => {
    expect(await fault(ORDER)).toBeNull()
    answer = () => listed({ order: 'REJECTED' })
    clock_ms += 10 * MINUTE_MS
    expect(fault(ORDER)).toBeNull()
    expect(readings).toHaveLength(1)
    clock_ms += 1
    expect(fault(ORDER)).toBeNull()
    await expect.poll(() => fault(ORDER)).toContain('REJECTED')
    expect(readings).toHaveLength(2)
  })

  it('refuse nothing while the provider cannot be asked, and the log says so once', async () => {
    answer = () => ({ type: 'unavailable', reason: 'no permission' })
    expect(await fault(SALE)).toBeNull()
    expect(fault(SALE)).toBeNull()
    expect(readings).toHaveLength(1)
    answer = () => Promise.reject(new Error('closed'))
    clock_ms += MINUTE_MS
    expect(fault(SALE)).toBeNull()
    await expect.poll(() => readings).toHaveLength(2)
    expect(warnings).toEqual([{ provider: 'wa', reason: 'no permission' }])
    answer = () => listed({ order: 'APPROVED', sale: 'PAUSED' })
    clock_ms += MINUTE_MS
    await expect.poll(() => fault(SALE)).toBe(SALE_PAUSED)
    // A list that was read before does not refuse either: the template may have been approved since.
    answer = () => ({ type: 'unavailable', reason: 'gone' })
    clock_ms += MINUTE_MS
    expect(await fault(SALE)).toBeNull()
    expect(fault(ORDER)).toBeNull()
    expect(warnings).toHaveLength(2)
    // After an hour, the list does not count any more.
    clock_ms += 60 * MINUTE_MS
    answer = () => listed({})
    await expect.poll(() => fault(ORDER)).toContain('No provider has approved')
  })

  it('cost a message no time while the provider cannot be asked: it is asked once a minute, beside the messages', async () => {
    answer = () => ({ type: 'unavailable', reason: 'HTTP 403' })
    expect(await fault(SALE)).toBeNull()
    for (let minutes = 1; minutes <= 3; minutes++) {
      const done = later()
      clock_ms += MINUTE_MS
      expect([fault(SALE), fault(ORDER), fault(SALE)]).toEqual([null, null, null])
      done({ type: 'unavailable', reason: 'HTTP 403' })
      await expect
        .poll(() => approved.stateOf(SALE, { refresh: true }))
        .toMatchObject({
          state: 'unavailable',
        })
      expect(readings).toHaveLength(1 + minutes)
    }
    expect(warnings).toHaveLength(1)
  })

  it('delay messages by five seconds in all, if the first reading takes longer', async () => {
    const done = later()
    const first = fault(SALE)
    clock_ms += 5_000
    expect(await fault(SALE)).toBeNull()
    done(listed({ sale: 'PAUSED' }))
    expect(await first).toBe(SALE_PAUSED)
    expect(readings).toHaveLength(1)
  })

  it('are refused with the advice of the provider that knows them', async () => {
    open({ wa: true, other: true })
    let count = 0
    answer = () => {
      const first = ++count === 1
      const list = listed(first ? {} : { sale: 'PAUSED' })
      return { ...(list as object), advice: first ? 'Ask them' : 'Set it' } as TemplateList
    }
    expect(await fault(SALE)).toBe(`${SALE_PAUSED}. Set it`)
    expect(await fault(ORDER)).toBe('No provider has approved the WhatsApp template order (en)')
  })

  it('may be those of any provider that may get the message', async () => {
    open({ wa: true, other: true })
    let count = 0
    answer = () => listed({ sale: ++count === 1 ? 'PAUSED' : 'APPROVED' })
    expect(await fault(SALE)).toBeNull()
    expect(await fault(ORDER)).toBe('No provider has approved the WhatsApp template order (en)')
  })

  it('do not have a name with placeholders, which are not filled in', async () => {
    expect(await fault({ name: '{{name}}', language: 'en' })).toBe(
      'No provider has approved the WhatsApp template {{name}} (en)',
    )
  })

  it('are found by the names of the settings, whatever the language, where the provider has such names', async () => {
    const known_templates = { names: ['order:en', 'any', 'gone'], id_form: /^HX\d$/ }
    open({ twilio: { known_templates, lists_templates: true } })
    const one = { name: 'HX1', language: 'en' }
    answer = () => ({
      type: 'listed',
      templates: [
        { ...one, is_approved: true, status: 'approved' },
        { name: 'HX2', language: 'de', is_approved: false, status: 'rejected' },
      ],
      ids: {},
      aliases: { HX1: one, HX2: { name: 'HX2', language: 'de' }, 'order:en': one, any: one },
    })
    expect(await fault(ORDER)).toBeNull()
    expect(await fault({ name: 'any', language: 'sw' })).toBeNull()
    expect(await fault({ id: 'HX1', language: 'sw' })).toBeNull()
    expect(await fault({ id: 'HX2' })).toContain('HX2 has the status rejected')
    expect(await fault({ id: 'HX3' })).toContain('No provider has approved')
    expect(await fault({ name: 'gone', language: 'en' })).toContain('No provider has approved')
    // What the settings lack is refused without a list.
    readings = []
    answer = () => ({ type: 'unavailable', reason: 'down' })
    open({ twilio: { known_templates, lists_templates: true } })
    expect(fault(SALE)).toContain('No provider has approved')
    expect(readings).toEqual([])
    expect(await fault(ORDER)).toBeNull()
  })

  it('are those of the settings where a provider names them there and lists none', async () => {
    const settings = { known_templates: { names: ['sale:en', 'any'], id_form: /^HX\d$/ } }
    open({ twilio: settings })
    expect(fault(SALE)).toBeNull()
    expect(fault({ name: 'any', language: 'de' })).toBeNull()
    expect(fault({ id: 'HX1' })).toBeNull()
    expect(fault({ ...SALE, language: 'de' })).toBe(
      'No provider has approved the WhatsApp template sale (de)',
    )
    expect(fault({ id: 'shop' })).toBe('No provider has approved the WhatsApp template shop')
    expect(readings).toEqual([])
    // The other provider approved what this one does not have.
    open({ twilio: settings, wa: true })
    expect(await fault(ORDER)).toBeNull()
    expect(fault(SALE)).toBeNull()
    expect(fault({ ...SALE, language: 'de' })).toContain('No provider has approved')
    expect(await approved.stateOf(ORDER, { refresh: false })).toMatchObject({ state: 'approved' })
    expect(await approved.stateOf(SALE, { refresh: false })).toMatchObject({ state: 'unchecked' })
    open({ twilio: settings })
    expect(await approved.stateOf(ORDER, { refresh: false })).toMatchObject({
      ...{ state: 'missing', checked_at: null },
    })
    open({ twilio: settings, other: false })
    expect(fault(ORDER)).toBeNull()
  })

  it('are not checked where a provider lists none', async () => {
    open({ wa: true, other: false })
    expect(fault(SALE)).toBeNull()
    open({})
    expect(fault(SALE)).toBeNull()
    expect(readings).toEqual([])
  })
})

describe('the state of a template', () => {
  const stateOf = (template: Parameters<ApprovedTemplates['fault']>[1], refresh = false) =>
    approved.stateOf(template, { refresh })
  const state = async (...asked: Parameters<typeof stateOf>) => (await stateOf(...asked)).state

  function answerWith(...templates: Partial<ProviderTemplate>[]) {
    const known = { ...ORDER, status: 'APPROVED', is_approved: false }
    const all = templates.map((one) => ({ ...known, ...one }))
    answer = () => ({ type: 'listed', templates: all, ids: { shop: ORDER } })
  }

  it('is in the words of the provider, with the reason of a rejection', async () => {
    answerWith(
      { is_approved: true },
      { name: 'new', status: 'PENDING', is_pending: true },
      { name: 'bad', status: 'REJECTED', reason: 'PROMOTIONAL' },
    )
    const checked_at = new Date(clock_ms)
    const read = { reason: null, checked_at }
    expect(await stateOf(ORDER)).toEqual({ ...read, state: 'approved', status: 'APPROVED' })
    expect(await stateOf({ ...ORDER, name: 'new' })).toEqual({
      ...{ ...read, state: 'pending', status: 'PENDING' },
    })
    expect(await stateOf({ ...ORDER, name: 'bad' })).toEqual({
      ...{ state: 'refused', status: 'REJECTED', reason: 'PROMOTIONAL', checked_at },
    })
    expect(await stateOf({ ...ORDER, language: 'de' })).toEqual({
      ...{ ...read, state: 'missing', status: null },
    })
    expect(await state({ id: 'shop' })).toBe('approved')
    expect(readings).toEqual(['wa'])
  })

  it('is asked for again with refresh, at most once a minute', async () => {
    answerWith({ status: 'PENDING', is_pending: true })
    expect(await state(ORDER)).toBe('pending')
    answerWith({ is_approved: true })
    clock_ms += MINUTE_MS - 1
    expect(await state(ORDER, true)).toBe('pending')
    clock_ms += 1
    expect(await state(ORDER)).toBe('pending')
    expect(await stateOf(ORDER, true)).toMatchObject({
      ...{ state: 'approved', checked_at: new Date(clock_ms) },
    })
    expect(readings).toHaveLength(2)
  })

  it('is not known where a provider lists none, or cannot be asked', async () => {
    open({ wa: true, other: false })
    expect(await stateOf(ORDER)).toEqual({
      ...{ state: 'unchecked', status: null, reason: null, checked_at: null },
    })
    open({})
    expect(await state(ORDER)).toBe('unchecked')
    expect(readings).toEqual([])
    open()
    answer = () => ({ type: 'unavailable', reason: 'no permission' })
    expect(await stateOf(ORDER)).toMatchObject({ state: 'unavailable', checked_at: null })
  })

  it('is the best of several providers, and not known if one that may have approved it cannot be asked', async () => {
    open({ wa: true, other: true })
    const states = [['PAUSED'], ['PENDING']]
    answer = () => {
      const [status = ''] = states.shift() ?? []
      const one = { ...ORDER, status, is_approved: false, is_pending: status === 'PENDING' }
      return { type: 'listed', templates: [one], ids: {} }
    }
    expect(await stateOf(ORDER)).toMatchObject({ state: 'pending', status: 'PENDING' })
    clock_ms += MINUTE_MS
    answerWith({ is_approved: true })
    const listing = answer
    let count = 0
    answer = () => (++count === 1 ? { type: 'unavailable', reason: 'gone' } : listing())
    expect(await state(ORDER, true)).toBe('approved')
    clock_ms += MINUTE_MS
    count = 0
    answerWith({ status: 'PAUSED' })
    const paused = answer
    answer = () => (++count === 1 ? { type: 'unavailable', reason: 'gone' } : paused())
    expect(await state(ORDER, true)).toBe('unavailable')
  })
})
