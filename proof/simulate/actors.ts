import {
  ask,
  DAILY_LIMIT,
  identityOf,
  newAsked,
  pause,
  post,
  type Stage,
  sendCopies,
  untilAnswered,
} from './client.ts'
import { elapsedMs, later } from './clock.ts'
import { burst, endCode, guess, sendCodeAgain, startCode } from './codes.ts'
import { changeDomain } from './domains.ts'
import { noteStatus } from './invariants/statuses.ts'
import {
  changeContact,
  createBroadcast,
  fillBulk,
  publish,
  sendTemplate,
  setQuiet,
  steer,
  unsubscribe,
} from './mailings.ts'
import {
  type Asked,
  CALLBACK_RECEIVER,
  createToggle,
  type Hook,
  numberOf,
  PACKAGE,
  PRICE_LISTS,
  PROVIDERS,
  type ProviderName,
} from './model.ts'
import { fileOf, sendersOf, write } from './outside.ts'
import { UNREACHABLE, visit } from './payments.ts'
import { question, refuse } from './questions.ts'
import { mixed } from './random.ts'
import type { Step } from './script.ts'
import type { Core } from './world.ts'

/** The number of receivers; each may have several webhooks. */
const RECEIVERS = 8

/** No webhook is added beyond this number. */
const HOOKS_MAX = 10

type Mood = Extract<Step, { do: 'receiver' }>['mood']

type Doing<K extends Step['do']> = Extract<Step, { do: K }>

/** Carries out one step of a script. What it starts goes on after it. */
export function perform(stage: Stage, step: Step): void {
  const { world, model } = stage
  world.count(step.do)
  switch (step.do) {
    case 'send':
      send(stage, step)
      break
    case 'repeat': {
      const asked = model.asked[step.which % model.asked.length]
      if (asked?.key && step.isOther) void repeatOther(stage, asked)
      else if (asked?.key) void post(stage, asked)
      break
    }
    case 'call':
      call(stage, step)
      break
    case 'mail':
      mail(stage, step)
      break
    case 'text':
      text(stage, step)
      break
    case 'domain':
      void changeDomain(stage, step)
      break
    case 'prices':
      world.trace(`the prices are ${JSON.stringify(PRICE_LISTS[step.which])}`)
      world.setPrices(step.which)
      break
    case 'templated':
      sendTemplate(stage, step)
      break
    case 'fill':
      fillBulk(stage, step)
      break
    case 'template':
      void publish(stage, step)
      break
    case 'broadcast':
      createBroadcast(stage, step)
      break
    case 'steer':
      void steer(stage, step)
      break
    case 'quiet':
      void setQuiet(stage, step)
      break
    case 'unsubscribe':
      void unsubscribe(stage, step)
      break
    case 'contact':
      void changeContact(stage, step)
      break
    case 'code':
      startCode(stage, step)
      break
    case 'guess':
      guess(stage, step)
      break
    case 'codeAgain':
      void sendCodeAgain(stage, step)
      break
    case 'codeEnd':
      void endCode(stage, step)
      break
    case 'bulk':
      bulk(stage, step)
      break
    case 'cancel':
    case 'reschedule':
    case 'read':
      void oneMessage(stage, step)
      break
    case 'cancelBulk':
      void cancelBulk(stage, step)
      break
    case 'stranger':
      void stranger(stage, step.which)
      break
    case 'grant':
      grant(stage, step)
      break
    case 'adjust':
      adjust(stage, step)
      break
    case 'forget':
      void forget(stage, step)
      break
    case 'look':
      void question(stage, step)
      break
    case 'wrong':
      void refuse(stage, step)
      break
    case 'burst':
      grant(stage, { ...step, do: 'grant', credits: 30, copies: 1, expires_s: 0 })
      void burst(stage, step)
      break
    case 'restart':
      world.trace('the service is stopped')
      world.stop(step)
      break
    case 'buy':
      for (let copy = 0; copy < step.copies; copy++) void buy(stage, step, copy)
      break
    case 'refund':
    case 'compare':
      void checkPayment(stage, step)
      break
    case 'write':
      writeBack(stage, step)
      break
    case 'again':
      again(stage, step.which)
      break
    case 'erase':
      void erase(stage, step.which)
      break
    case 'terms':
      void terms(stage, step)
      break
    case 'pause':
    case 'resume':
      void pauseAll(stage, step.do === 'pause')
      break
    case 'pauseProvider':
    case 'resumeProvider':
      void pauseOne(stage, step.which, step.do === 'pauseProvider')
      break
    case 'webhook':
      void addHook(stage, step)
      break
    case 'change':
      void changeHook(stage, step)
      break
    case 'revoke':
      void revoke(stage, step.workspace)
      break
    case 'provider':
      model.moods[nameOf(step.which)] = step.mood
      world.trace(`provider ${nameOf(step.which)} is ${step.mood}`)
      break
    case 'receiver':
      changeReceiver(stage, 1 + (step.which % CALLBACK_RECEIVER), step.mood)
      break
    case 'kill':
      world.trace('killed')
      world.kill(step.down_ms, step)
      break
    case 'commit':
      world.failCommit(step.in_commits, step.fault)
      break
    case 'clock':
      world.trace(`the clock is set by ${step.by_ms} ms`)
      model.isClockSet = true
      model.clock_set_ms = elapsedMs()
      for (const one of model.carried.values()) one.not_before_ms = null
      world.setClock(step.by_ms)
      break
    case 'sleep':
      world.trace(`the machine ${step.isSuspended ? 'is suspended' : 'sleeps'} for ${step.ms} ms`)
      model.sleeps.push(elapsedMs())
      if (step.isSuspended) world.suspend(step.ms)
      else world.sleep(step.ms)
      if (step.isSuspended) model.woke_ms = elapsedMs()
      break
  }
}

function changeReceiver({ world, model }: Stage, receiver: number, mood: Mood): void {
  model.receivers.set(receiver, mood)
  // A 410 disables its webhook.
  if (mood === 'gone') {
    for (const hook of model.hooks) if (hook.receiver === receiver) hook.isWhole = false
  }
  world.trace(`receiver ${receiver} is ${mood}`)
}

const nameOf = (which: number): ProviderName => PROVIDERS[which % PROVIDERS.length]?.name ?? 'plain'

const CONTENTS = {
  sms: { text: 'Your order A1 is ready' },
  whatsapp: { text: 'Your order A1 is ready' },
  email: { subject: 'Order', text: 'Your order A1 is ready' },
} as const

const recipientOf = (channel: keyof typeof CONTENTS, fate: number): string =>
  channel === 'email' ? `r${fate}@recipients.example` : numberOf(fate)

function send(stage: Stage, step: Doing<'send'>): void {
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

function call(stage: Stage, step: Doing<'call'>): void {
  const content = CALLS[step.minutes]
  const message = { channel: 'voice', to: numberOf(step.fate), content }
  sendCopies(stage, { ...step, callback: callbackOf(step) }, message)
}

function text(stage: Stage, step: Doing<'text'>): void {
  const content = { text: (step.isUnicode ? 'ю' : 'a').repeat(step.length) }
  sendCopies(stage, step, { channel: 'sms', to: numberOf(step.fate), content })
}

/** An e-mail, mostly to several people. Its subject decides what happens to it. */
function mail(stage: Stage, step: Doing<'mail'>): void {
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
    // By HTTP, the server keeps long texts in files, which takes time of the machine.
    ...(fate % 3 === 0 && stage.world.door === null && { attachments: filesOf(fate) }),
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

function bulk(stage: Stage, step: Doing<'bulk'>): void {
  const recipients = Array.from({ length: step.size }, (_, i) =>
    recipientOf('sms', mixed(step.fate, i) % 2_000_000),
  )
  // The last ones are no numbers, and are rejected.
  if (step.fate % 4 === 0) recipients.push('0700 000 009', `(${recipients[0]}, office)`)
  const body = {
    channel: 'sms',
    content: CONTENTS.sms,
    recipients,
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

async function oneMessage(
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

/** An owner erases a message, or its content, also one about which reports still come. */
async function forget(stage: Stage, { which, how }: Doing<'forget'>): Promise<void> {
  const { world } = stage
  const all = known(stage)
  const found = all[all.length - 1 - (which % Math.min(all.length, 30))]
  const place = stage.model.places[found?.asked.place ?? -1]
  if (!found || !place) return
  const at = `${how} ${world.nameOf('m', found.id)}`
  const answer = await ask(stage, at, (core) => core.messages[how](place.id, found.id))
  if (answer && 'value' in answer) world.trace(`${at}: done`)
}

/** A client cancels, pauses or continues a bulk. Kept scripts are older than `how`. */
async function cancelBulk(
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

/** A client asks for a message of another workspace. */
async function stranger(stage: Stage, which: number): Promise<void> {
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

function grant(stage: Stage, step: Doing<'grant'>): void {
  const { model } = stage
  const place = model.places[step.workspace]
  if (!place) return
  const id = `01940000-0000-7000-8000-${String(model.grants.length).padStart(12, '0')}`
  const one = { place: step.workspace, id, credits: step.credits, isAnswered: false }
  model.grants.push(one)
  // Kept scripts are older than this field.
  const { expires_s = 0 } = step
  const expires_at = expires_s > 0 && { expires_at: new Date(Date.now() + expires_s * 1000) }
  const give = async (): Promise<void> => {
    const answer = await untilAnswered(stage, `grant ${step.credits}`, (core) =>
      core.credits.grant(place.id, {
        amount: (step.credits * 1_000_000) as never,
        id,
        actor: 'operator',
        ...expires_at,
      }),
    )
    if ('value' in answer) one.isAnswered = true
  }
  void give()
  for (let copy = 1; copy < step.copies; copy++) later(() => void give(), copy * GRANT_AGAIN_MS)
}

/** An operator corrects a balance, and repeats it. */
function adjust(stage: Stage, { workspace, credits, copies }: Doing<'adjust'>): void {
  const { model } = stage
  const place = model.places[workspace]
  if (!place || credits === 0) return
  model.adjusted += 1
  const id = `01940000-0000-7000-8001-${String(model.adjusted).padStart(12, '0')}`
  const amount = (credits * 1_000_000) as never
  const give = () =>
    untilAnswered(stage, `adjust ${credits}`, (core) =>
      core.credits.adjust(place.id, { amount, id, actor: 'operator', reason: 'simulated' }),
    )
  for (let copy = 0; copy < copies; copy++) later(() => void give(), copy * GRANT_AGAIN_MS)
}

/** An operator repeats a grant after this time. */
const GRANT_AGAIN_MS = 333

/** A workspace buys credits. A payer acts when the page is known. */
async function buy(
  stage: Stage,
  { workspace, isKeyed, fate }: Doing<'buy'>,
  copy: number,
): Promise<void> {
  const { world, model } = stage
  const place = model.places[workspace]
  if (!place) return
  const idempotency_key = isKeyed ? `buy-${fate}` : undefined
  model.open += 1
  for (let time = 0; ; time++) {
    const answer = await ask(stage, `checkout ${idempotency_key ?? '-'}`, (core) =>
      core.billing.checkout(place.id, { package_id: PACKAGE.id }, { idempotency_key }),
    )
    if (answer && 'value' in answer) {
      const { checkout_url } = answer.value.data
      const session_id = checkout_url.split('/').at(-1) ?? ''
      world.trace(`checkout ${world.nameOf('p', session_id)} of ${workspace}`)
      // Copies with one key have one page.
      const isKnown = model.visited.has(session_id)
      if (isKnown && !isKeyed) world.violate('a request is accepted once', `${session_id} twice`)
      model.visited.add(session_id)
      if (!isKnown) visit(session_id, mixed(fate, copy))
      break
    }
    if (!isKeyed || time > 20) break
    await pause(time)
  }
  model.open -= 1
}

/** An operator refunds a payment, or compares it with its provider. */
async function checkPayment(stage: Stage, step: Doing<'refund'> | Doing<'compare'>): Promise<void> {
  const { world, model } = stage
  const sold = [...model.sold.values()]
  const one = sold[step.which % sold.length]
  if (!one) return
  const { workspace_id, purchase_id } = one
  const what = `${step.do} ${world.nameOf('p', one.session_id)}`
  const answer = await ask(stage, what, (core) =>
    (step.do === 'refund'
      ? core.billing.refund(workspace_id, purchase_id)
      : core.billing.check(workspace_id, purchase_id)
    ).catch((error: Error) => {
      if (error.message === UNREACHABLE) return null
      throw error
    }),
  )
  if (answer && 'value' in answer) world.trace(`${what}: ${answer.value?.status ?? 'unreachable'}`)
}

/** Messages that a provider took with an answer, so that the service knows who may write back. */
function reached({ database }: Stage, which: number) {
  const rows = database()
    .prepare(
      `select id, workspace_id, channel, recipient as address from messages
       where livemode = 1 and accepted = 1 and erased_at is null and channel in ('sms', 'whatsapp') and bulk_id is null and provider <> 'spare'
       and api_key_id is not null
       and exists (select 1 from message_attempts a where a.message_id = messages.id and a.outcome = 'accepted') order by id desc limit 30`,
    )
    .all() as { id: string; workspace_id: string; channel: 'sms' | 'whatsapp'; address: string }[]
  return rows[which % rows.length]
}

function writeBack(stage: Stage, { which, text, copies }: Doing<'write'>): void {
  const { model, world } = stage
  const found = world.core && reached(stage, which)
  if (!found || model.erasing.has(found.address)) return
  const place = model.places.findIndex(({ id }) => id === found.workspace_id)
  write({ ...found, place }, text, copies)
}

/** A client sends to a person again, who may have opted out. */
function again(stage: Stage, which: number): void {
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

/** An operator erases a person. */
async function erase(stage: Stage, which: number): Promise<void> {
  const { world, model } = stage
  const found = world.core && reached(stage, which)
  if (!found) return
  const { address } = found
  model.erasing.add(address)
  const before = model.asked.flatMap(({ body, ids }) =>
    (body as { to?: string }).to === address ? ids : [],
  )
  const at = world.nameOf('r', address)
  const answer = await untilAnswered(stage, `erase ${at}`, (core) => core.recipients.erase(address))
  if (!('value' in answer)) return
  world.trace(
    `erased ${at}: ${answer.value.messages} messages, ${answer.value.under_way} in flight`,
  )
  if (answer.value.under_way === 0) for (const id of before) model.erased.set(id, address)
}

async function terms(stage: Stage, { workspace, change }: Doing<'terms'>): Promise<void> {
  const { world, model } = stage
  const place = model.places[workspace]
  if (!place) return
  const changes = {
    freeze: { status: 'frozen', reason: 'simulated' },
    unfreeze: { status: 'active' },
    limit: { daily_limit: DAILY_LIMIT },
    free: { daily_limit: null },
    low: { low_balance: 50_000_000 },
  } as const
  const isOn = change === 'freeze' || change === 'limit'
  const isOther = change === 'low'
  const toggle = change === 'freeze' || change === 'unfreeze' ? place.frozen : place.limit
  if (!isOther) toggle.begin()
  const answer = await untilAnswered(stage, change, (core) =>
    core.credits.setTerms(place.id, changes[change] as never),
  )
  if (!isOther) toggle.end('code' in answer ? 'unknown' : isOn ? 'yes' : 'no')
  world.trace(`${change} of ${workspace}`)
}

async function pauseAll(stage: Stage, isPaused: boolean): Promise<void> {
  const { world, model } = stage
  model.pause.begin()
  const answer = await untilAnswered(stage, isPaused ? 'pause' : 'resume', async (core) => {
    if (isPaused) await core.dispatch.stop({ reason: 'simulated' })
    else await core.dispatch.resume()
  })
  world.trace(isPaused ? 'paused' : 'resumed')
  model.pause.end('code' in answer ? 'unknown' : isPaused ? 'yes' : 'no')
}

async function pauseOne(stage: Stage, which: number, isPaused: boolean): Promise<void> {
  const { world, model } = stage
  const name = nameOf(which)
  const toggle = model.providerPauses[name]
  toggle.begin()
  const what = `${isPaused ? 'pause' : 'resume'} ${name}`
  const answer = await untilAnswered(stage, what, async (core) => {
    if (isPaused) await core.providers.pause(name, { reason: 'simulated' })
    else {
      await core.providers.resume(name)
      // It may have paused its sender on its own.
      for (const sender of sendersOf(name)) await core.providers.resume(name, { sender })
    }
  })
  world.trace(`${name} ${isPaused ? 'paused' : 'resumed'}`)
  toggle.end('code' in answer ? 'unknown' : isPaused ? 'yes' : 'no')
}

const MODES = ['all', 'live', 'test', 'all'] as const

async function addHook(stage: Stage, { workspace, kind }: Doing<'webhook'>): Promise<void> {
  const { world, model } = stage
  const place = model.places[workspace]
  if (!place || model.hooks.length > HOOKS_MAX) return
  const receiver = 1 + (model.hooks.length % RECEIVERS)
  const mode = MODES[kind] ?? 'all'
  const form = kind === 3 ? 'resend' : 'svc'
  const answer = await ask(stage, 'new webhook', (core) =>
    core.webhooks.create(place.id, {
      url: `http://10.0.0.${receiver}/hook`,
      mode,
      events: ['*'],
      format: form,
    }),
  )
  if (answer === null) model.hasUnknownHooks = true
  if (!answer || 'code' in answer) return
  const { id, secret } = answer.value
  model.hooks.push({
    id,
    place: workspace,
    receiver,
    mode,
    secrets: new Set([secret]),
    hasUnknownSecret: false,
    off_since_ms: null,
    form,
    isWhole: false,
  })
  world.trace(`webhook ${world.nameOf('w', id)} of ${workspace} to ${receiver}`)
}

async function changeHook(stage: Stage, { which, how }: Doing<'change'>): Promise<void> {
  const { world, model } = stage
  const hook = model.hooks[which % model.hooks.length] as Hook
  const place = model.places[hook.place]
  if (!place) return
  const at = world.nameOf('w', hook.id)
  if (how === 'test' || how === 'retry' || how === 'recover') {
    return askForDeliveries(stage, { hook, how })
  }
  if (how === 'enable') hook.off_since_ms = null
  if (how === 'disable' || how === 'delete') hook.isWhole = false
  const answer = await ask(stage, `${how} ${at}`, async (core) => {
    if (how === 'disable') await core.webhooks.update(place.id, hook.id, { is_active: false })
    else if (how === 'enable') await core.webhooks.enable(place.id, hook.id)
    else if (how === 'delete') await core.webhooks.delete(place.id, hook.id)
    else return (await core.webhooks.rotateSecret(place.id, hook.id)).secret
    return ''
  })
  if (how === 'rotate' && answer === null) hook.hasUnknownSecret = true
  if (!answer || 'code' in answer) return
  world.trace(`${how} ${at}`)
  if (how === 'rotate') hook.secrets.add(answer.value)
  if (how === 'disable' || how === 'delete') hook.off_since_ms = elapsedMs()
}

/** An owner wants a delivery for a test, or those that failed again. */
async function askForDeliveries(
  stage: Stage,
  { hook, how }: { hook: Hook; how: 'test' | 'retry' | 'recover' },
): Promise<void> {
  const { world, model, database } = stage
  const place = model.places[hook.place]
  if (!place || !world.core) return
  const failed = database()
    .prepare(
      "select id from deliveries where webhook_id = ? and status = 'failed' order by id desc",
    )
    .pluck()
    .get(hook.id) as string | undefined
  const at = `${how} ${world.nameOf('w', hook.id)}`
  hook.wasAskedAgain ||= how !== 'test'
  const since = new Date(Date.now() - 600_000).toISOString()
  const answer = await ask<unknown>(stage, at, ({ webhooks }) => {
    if (how === 'test') return webhooks.test(place.id, hook.id)
    if (how === 'recover') return webhooks.recover(place.id, hook.id, { since } as never)
    return webhooks.retry(place.id, hook.id, failed ?? place.id)
  })
  world.trace(`${at}: ${answer && 'code' in answer ? answer.code : answer !== null}`)
}

/** Replaces the key of a workspace, and checks that the old key is refused at once. */
async function revoke(stage: Stage, workspace: number): Promise<void> {
  const { world, model } = stage
  const place = model.places[workspace]
  if (!place) return
  const { key: old, key_id: oldId } = place
  const made = await ask(stage, 'new key', (core) =>
    core.apiKeys.create(place.id, { name: 'next' }),
  )
  if (!made || 'code' in made) return
  place.key = made.value.key
  place.key_id = made.value.id
  const ended = await untilAnswered(stage, 'revoke', (core) =>
    core.apiKeys.deactivate(place.id, oldId),
  )
  if ('code' in ended && ended.code !== 'not_found') return
  world.trace(`key of ${workspace} revoked`)
  const answer = await ask(stage, 'revoked key', (core) => identityOf(core, old))
  if (answer && (!('code' in answer) || answer.code !== 'unauthorized')) {
    world.violate('a revoked key is refused at once', `key of ${workspace}`)
  }
}
