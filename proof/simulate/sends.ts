import { ask, identityOf, newAsked, post, type Stage, sendCopies } from './client.ts'
import { elapsedMs } from './clock.ts'
import { noteStatus } from './invariants/statuses.ts'
import { type Asked, CALLBACK_RECEIVER, createToggle, numberOf } from './model.ts'
import { fileOf } from './outside.ts'
import { mixed } from './random.ts'
import type { Doing } from './script.ts'
import type { Core } from './world.ts'

// What clients do with messages.

const CONTENTS = {
  sms: { text: 'Your order A1 is ready' },
  whatsapp: { text: 'Your order A1 is ready' },
  email: { subject: 'Order', text: 'Your order A1 is ready' },
} as const

const recipientOf = (channel: keyof typeof CONTENTS, fate: number): string =>
  channel === 'email' ? `r${fate}@recipients.example` : numberOf(fate)

export function send(stage: Stage, step: Doing<'send'>): void {
  const { channel, fate } = step
  const isLimited = !step.isTest && fate % 6 === 5
  const message = { channel, to: recipientOf(channel, fate), content: CONTENTS[channel] }
  sendCopies(stage, { ...step, isLimited, callback: callbackOf(step) }, message)
}

/** Some clients name an address for the statuses of their message. */
function callbackOf({ isTest, fate }: { isTest: boolean; fate: number }): Asked['callback'] {
  if (isTest || fate % 7 !== 2) return undefined
  const url = `http://10.0.0.${CALLBACK_RECEIVER}/status?fate=${fate}`
  return {
    url,
    ...(fate % 2 === 0 && { method: 'GET' as const }),
    ...(fate % 3 === 0 && { events: ['message.delivered'] as const }),
  }
}

/** The service holds the price of one, two and three minutes for these. */
const CALLS: Readonly<Record<Doing<'call'>['minutes'], object>> = {
  1: { text: 'Your code is 1234' },
  2: { text: 'Your order is ready. '.repeat(33) },
  3: { audio_url: 'https://files.example/greeting.mp3' },
}

export function call(stage: Stage, step: Doing<'call'>): void {
  const content = CALLS[step.minutes]
  const message = { channel: 'voice', to: numberOf(step.fate), content }
  sendCopies(stage, { ...step, callback: callbackOf(step) }, message)
}

export function text(stage: Stage, step: Doing<'text'>): void {
  const content = { text: (step.isUnicode ? 'ю' : 'a').repeat(step.length) }
  sendCopies(stage, step, { channel: 'sms', to: numberOf(step.fate), content })
}

/** An e-mail, mostly to several people. Its subject decides what happens to it. */
export function mail(stage: Stage, step: Doing<'mail'>): void {
  const { people, fate, workspace, from } = step
  const bcc = Math.min(step.bcc, people.length - 1)
  const cc = Math.min(step.cc, people.length - 1 - bcc)
  const addresses = people.map((person) => `p${person}@people.example`)
  const to = addresses.slice(0, people.length - cc - bcc)
  const domain = stage.model.domains.filter(({ place }) => place === workspace)[from]
  const content = {
    subject: `Order ${fate}`,
    // SQLite stores a long content apart from its message.
    text: 'It is ready. '.repeat(people.length > 1 ? 100 : 1),
    cc: addresses.slice(to.length, to.length + cc),
    bcc: addresses.slice(to.length + cc),
    ...(fate % 3 === 0 && { attachments: filesOf(fate) }),
    ...(fate % 4 === 1 && { tags: [{ name: 'kind', value: 'receipt' }] }),
    ...(domain && { from_address: `shop@${domain.name}` }),
  }
  sendCopies(stage, step, { channel: 'email', to, content })
}

/** One or two files. The service keeps them apart from the mail, and a large one in several pieces. */
function filesOf(fate: number): { filename: string; content: string }[] {
  const sizes = fate % 6 === 0 ? [200, 3_000] : [fate % 12 === 3 ? 700_000 : 40_000]
  return sizes.map((size) => {
    const filename = `f${size}-${fate}.txt`
    return { filename, content: fileOf(filename).toString('base64') }
  })
}

export function bulk(stage: Stage, step: Doing<'bulk'>): void {
  const recipients = Array.from({ length: step.size }, (_, i) =>
    recipientOf('sms', mixed(step.fate, i) % 2_000_000),
  )
  // The last ones are no numbers, and are rejected.
  if (step.fate % 4 === 0) recipients.push('0700 000 009', `(${recipients[0]}, office)`)
  const body = {
    channel: 'sms',
    content: CONTENTS.sms,
    recipients,
    ...(step.fate % 3 === 0 && { expires_in: 60 }),
    ...(step.delay_s > 0 && {
      scheduled_at: new Date(Date.now() + step.delay_s * 1000).toISOString(),
    }),
  }
  const asked = newAsked(
    stage,
    { ...step, isTest: false, isLimited: step.fate % 6 === 5 },
    'bulk',
    body,
  )
  stage.model.asked.push(asked)
  // A message that follows at once is handed to the lane while the messages of the bulk wait.
  void post(stage, asked).then(() => {
    if (step.fate % 2 === 0)
      send(stage, { ...AFTER_BULK, fate: step.fate, workspace: step.workspace })
  })
}

const AFTER_BULK = {
  do: 'send',
  channel: 'sms',
  isTest: false,
  isKeyed: false,
  copies: 1,
  delay_s: 0,
  expires_s: 0,
} as const

/** A client sends to a person again, who may have opted out. */
export function again(stage: Stage, which: number): void {
  const { model } = stage
  const sends = model.asked.filter(({ kind, ids }) => kind === 'send' && ids.length > 0)
  const opted = sends.filter(({ place, body }) => {
    const { channel, to } = body as { channel: string; to: string }
    return model.optOuts.has(`${place} ${channel} ${to}`)
  })
  const from = opted.length > 0 && which % 4 > 0 ? opted : sends
  const found = from[which % from.length]
  if (!found) return
  const { channel, to, content } = found.body as { channel: string; to: string; content: object }
  const asked = newAsked(
    stage,
    { workspace: found.place, isTest: false, isKeyed: which % 2 === 0 },
    'send',
    { channel, to, content, ...(which % 5 === 0 && { metadata: { again: 'yes' } }) },
  )
  model.asked.push(asked)
  void post(stage, asked)
}

/** A client repeats a request with its key, half of the times one that was refused; or sends another one with this key. */
export function repeat(stage: Stage, { which, isOther }: Doing<'repeat'>): void {
  const { asked } = stage.model
  const keyed = asked.filter(({ key }) => key)
  const refused = keyed.filter(({ answer, refusals }) => answer === null && refusals.length > 0)
  const among = which % 2 === 0 && refused.length > 0 ? refused : keyed
  const found = among[among.length - 1 - ((which >>> 1) % among.length)]
  if (found && isOther) void repeatOther(stage, found)
  else if (found) void post(stage, found)
}

/** Another request with a known key is refused. */
async function repeatOther(stage: Stage, asked: Asked): Promise<void> {
  const { world, model } = stage
  const place = model.places[asked.place]
  if (!place || asked.kind !== 'send') return
  const wasAnswered = asked.answer !== null
  const prices = new Set([world.prices])
  const body = {
    ...(asked.body as object),
    to: '+14159999999',
    channel: 'sms',
    content: CONTENTS.sms,
  }
  const answer = await ask(stage, `other ${asked.key}`, async (core) => {
    const identity = await identityOf(core, asked.isTest ? place.test_key : place.key)
    return core.messages.send(identity, body as never, { idempotency_key: `${asked.key}` })
  })
  if (answer && 'value' in answer) {
    if (wasAnswered)
      world.violate('an idempotent answer is stable', `${asked.key} took another body`)
    // The key was free: the original request is refused now.
    const { message_id } = answer.value.data
    model.asked.push({
      ...asked,
      key: undefined,
      body,
      prices,
      answer: JSON.stringify(answer.value.data),
      ids: [message_id],
      pending: 0,
    })
    asked.refusals.push('taken')
  }
}

/** The messages of which clients know, oldest first. */
const known = ({ model }: Stage): { id: string; asked: Asked }[] =>
  model.asked.flatMap((asked) => asked.ids.map((id) => ({ id, asked })))

/** A message as the HTTP API shows it. */
interface Seen {
  message: Record<'credits_used' | 'credits_refunded', number> & {
    status: string
    error_code: string | null
  }
}

export async function oneMessage(
  stage: Stage,
  step: Doing<'cancel'> | Doing<'reschedule'> | Doing<'read'>,
): Promise<void> {
  const { world, model } = stage
  const all = known(stage)
  // Most questions are about new messages.
  const found =
    all[
      all.length - 1 - (step.which % Math.min(all.length, step.which % 3 === 0 ? all.length : 12))
    ]
  const place = model.places[found?.asked.place ?? -1]
  if (!found || !place) return
  const { id } = found
  const at = world.nameOf('m', id)
  const when = step.do === 'reschedule' ? Date.now() + step.delay_s * 1000 : 0
  if (step.do === 'reschedule') model.moved.add(id)
  const scheduled_at = new Date(when).toISOString()
  const answer = await ask(stage, `${step.do} ${at}`, async (core) => {
    if (world.door) {
      const { key } = place
      if (step.do === 'read') return (await world.door.call<Seen>('GET', id, { key })).data.message
      const body = step.do === 'reschedule' ? { scheduled_at } : undefined
      const { data } = await world.door.call<Seen>('POST', `${id}/${step.do}`, { key, body })
      return data.message
    }
    if (step.do === 'cancel') return core.messages.cancel(place.id, id)
    if (step.do === 'read') return core.messages.get(place.id, id)
    return core.messages.reschedule(place.id, id, { scheduled_at })
  })
  if (!answer || 'code' in answer) {
    if (answer?.code === 'not_found')
      world.violate('a 201 is on disk with its debit', `${at} is gone`)
    return
  }
  const { status, credits_used, credits_refunded, error_code } = answer.value
  world.trace(`${step.do} ${at}: ${status}`)
  const isRefunded = Number(credits_refunded) > 0 && credits_refunded === credits_used
  noteStatus(stage, id, { status, isRefunded })
  if (step.do === 'cancel' && (status !== 'failed' || error_code !== 'canceled')) {
    world.violate('a status moves forward', `${at} was canceled and is ${status} ${error_code}`)
  }
}

/** A client cancels, pauses or continues a bulk. Kept scripts are older than `how`. */
export async function cancelBulk(
  stage: Stage,
  { which, how = 'cancel' }: Doing<'cancelBulk'>,
): Promise<void> {
  const { world, model } = stage
  const made = model.asked.filter(({ kind, answer }) => kind === 'bulk' && answer !== null)
  const found = made[made.length - 1 - (which % Math.min(made.length, 4))]
  const place = model.places[found?.place ?? -1]
  if (!found || !place) return
  const { bulk_id } = JSON.parse(found.answer ?? '{}') as { bulk_id: string }
  const known = model.bulkPauses.get(bulk_id) ?? { toggle: createToggle(), since_ms: 0 }
  model.bulkPauses.set(bulk_id, known)
  known.toggle.begin()
  const at = `${how} ${world.nameOf('k', bulk_id)}`
  const answer = await ask<unknown>(stage, at, ({ messages }) =>
    messages.bulks[how](place.id, bulk_id),
  )
  const isPaused = answer !== null && 'value' in answer && how === 'pause'
  known.toggle.end(isPaused ? 'yes' : 'unknown')
  known.since_ms = elapsedMs()
  if (answer && 'value' in answer) world.trace(`${at}: done`)
}

/** An owner erases a message, or its content, also one about which reports still come. */
export async function forget(stage: Stage, { which, how }: Doing<'forget'>): Promise<void> {
  const { world } = stage
  const all = known(stage)
  const found = all[all.length - 1 - (which % Math.min(all.length, 30))]
  const place = stage.model.places[found?.asked.place ?? -1]
  if (!found || !place) return
  const at = `${how} ${world.nameOf('m', found.id)}`
  const answer = await ask(stage, at, (core) => core.messages[how](place.id, found.id))
  if (answer && 'value' in answer) world.trace(`${at}: done`)
}

/** A client asks for a message of another workspace. */
export async function stranger(stage: Stage, which: number): Promise<void> {
  const { world, model } = stage
  const all = known(stage)
  const found = all[which % all.length]
  const other = model.places[1 - (found?.asked.place ?? 0)]
  if (!found || !other) return
  const { id } = found
  const works: ((core: Core) => Promise<unknown>)[] = [
    (core) => core.messages.get(other.id, id),
    (core) => core.messages.cancel(other.id, id),
    (core) =>
      core.messages.reschedule(other.id, id, { scheduled_at: new Date(Date.now()).toISOString() }),
  ]
  const { door } = world
  if (door) {
    const by = (method: 'GET' | 'POST', url: string, body?: object) => () =>
      door.call(method, url, { key: other.key, body })
    const scheduled_at = new Date(Date.now()).toISOString()
    works.splice(
      0,
      3,
      by('GET', id),
      by('POST', `${id}/cancel`),
      by('POST', `${id}/reschedule`, { scheduled_at }),
    )
  }
  const answer = await ask(stage, 'stranger', works[which % works.length] as (typeof works)[0])
  if (answer && (!('code' in answer) || answer.code !== 'not_found')) {
    world.violate(
      'no row of another workspace',
      `${world.nameOf('m', id)}: ${JSON.stringify(answer)}`,
    )
  }
}
