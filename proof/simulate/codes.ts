import { ask, identityOf, newAsked, pause, post, type Stage, untilAnswered } from './client.ts'
import { later } from './clock.ts'
import { numberOf, type Verification } from './model.ts'
import type { Doing } from './script.ts'

/** People who ask for codes again and again, so that the waits and limits of an address count. */
const REGULARS = 6

/** What is tried next if no receipt of the first message arrives. */
const FALLBACKS = {
  none: [],
  one: ['whatsapp'],
  two: ['voice', 'whatsapp'],
  mail: ['email'],
  all: ['whatsapp', 'email', 'voice'],
} as const

/** A client starts a code, and the same at once again if it is impatient. */
export function startCode(stage: Stage, step: Doing<'code'>): void {
  const { channel, isRegular } = step
  const fate = isRegular ? step.fate % REGULARS : step.fate
  const number = numberOf(fate)
  const address = `r${fate}@recipients.example`
  const isMail = channel === 'email'
  const fallback = FALLBACKS[step.fallback]
    .filter((other) => other !== channel)
    .map((other) => {
      const isOther = (other === 'email') !== isMail
      return { channel: other, ...(isOther && { to: isMail ? number : address }) }
    })
  const body = {
    to: isMail ? address : number,
    channel,
    code_length: step.length,
    expires_in: step.expires_s,
    ...(fallback.length > 0 && { fallback, fallback_after: 10 }),
    ...(step.fate % 3 === 0 && { client_ip: `203.0.113.${fate % 2}` }),
    ...(step.fate % 5 === 0 && { locale: 'de' }),
    ...(step.template && { template: { name: step.template } }),
    ...(channel === 'sms' && step.fate % 4 === 0 && { domain: 'shop.example' }),
  }
  for (let copy = 0; copy < step.copies; copy++) {
    const isSame = step.isKeyed && copy > 0
    const asked = isSame ? stage.model.asked.at(-1) : newAsked(stage, step, 'code', body)
    if (!asked) return
    if (!isSame) stage.model.asked.push(asked)
    void post(stage, asked)
  }
}

/** The countries of attacks: numbers that no other client uses. */
const ATTACKED = ['+49151', '+4479'] as const

/** More messages than a country gets without an approval. */
const BURST = 54

/** Many people ask for codes and give none. An operator may allow the codes of the country. */
export async function burst(stage: Stage, step: Doing<'burst'>): Promise<void> {
  const { world, model } = stage
  const { workspace, country, how } = step
  const place = model.places[workspace]
  if (!place) return
  if (how === 'look') {
    const answer = await ask(stage, 'look at pauses', ({ verifications }) =>
      verifications.pauses(place.id),
    )
    return world.trace(`look at pauses: ${answer !== null}`)
  }
  if (how === 'allow') {
    const answer = await untilAnswered(stage, 'allow a country', ({ verifications }) =>
      verifications.allow(place.id, COUNTRIES[country] ?? 'DE', 1),
    )
    return world.trace(`a country is allowed: ${'value' in answer}`)
  }
  const options = { workspace, isTest: false, isKeyed: false }
  model.open += 1
  for (let n = 0; n < BURST; n++) {
    model.numbers += 1
    const to = `${ATTACKED[country]}${String(10_000_000 + model.numbers)}`
    const asked = newAsked(stage, options, 'code', {
      ...{ to, channel: CHANNELS[country] },
      // Some attacks come from one network.
      ...(country === 1 && { client_ip: '198.51.100.7' }),
    })
    model.asked.push(asked)
    void post(stage, asked)
    // The clients of an attack do not all ask in one moment.
    if (n % 8 === 7) await pause(0)
  }
  model.open -= 1
}

const COUNTRIES = ['DE', 'GB'] as const
const CHANNELS = ['whatsapp', 'sms'] as const

/** The number of one person, to which no other client sends. */
export const IMPATIENT = '+33612000000'

/** One person asks for a code as soon as it is allowed, and more often than an address gets one. */
export async function askAgainAndAgain(stage: Stage, sleep: (ms: number) => Promise<void>) {
  const to = IMPATIENT
  const options = { workspace: 0, isTest: false, isKeyed: false }
  for (let time = 0; time < 7; time++) {
    const asked = newAsked(stage, options, 'code', { to, channel: 'whatsapp', expires_in: 3_600 })
    stage.model.asked.push(asked)
    void post(stage, asked)
    await sleep(Math.min(30_000 * 2 ** time, 600_000) + 1_000)
  }
}

/** What the database has of a verification. */
interface Stored {
  status: string
  recipient: string
  expires_at: number
  messages: string
}

/** The code, as the person read it in one of the messages, or as a test key gets it. */
function codeOf({ model }: Stage, one: Verification, stored: Stored): string | null {
  if (one.test_code !== null) return one.test_code
  for (const { id } of JSON.parse(stored.messages) as { id: string }[]) {
    const read = model.codes.get(id)
    if (read !== undefined) return read
  }
  return null
}

/** A code that is sent again is valid for longer. */
function expiryOf({ database }: Stage, { id }: Verification): number {
  const find = database().prepare('select expires_at from verifications where id = ?').pluck()
  return (find.get(id) as number | undefined) ?? 0
}

/** Most questions are about new codes. */
function chosen({ model, database }: Stage, which: number) {
  const all = [...model.verifications.values()]
  const one = all[all.length - 1 - (which % Math.min(all.length, which % 3 === 0 ? 40 : 4))]
  const place = one && model.places[one.place]
  if (!one || !place) return null
  const stored = database()
    .prepare('select * from verifications where workspace_id = ? and id = ?')
    .get(place.id, one.id) as Stored | undefined
  return { one, stored, place, key: one.isTest ? place.test_key : place.key }
}

/** A client types a code: the right one, or one that differs in the last digit. */
export function guess(stage: Stage, { which, how, copies, wait_s }: Doing<'guess'>): void {
  const { world, model } = stage
  const found = world.core && chosen(stage, which)
  if (!found?.stored) return
  const { one, stored, key } = found
  const right = codeOf(stage, one, stored)
  if (right === null || model.erasing.has(stored.recipient)) return
  const code = how === 'wrong' ? right.slice(0, -1) + ((Number(right.at(-1)) + 1) % 10) : right
  const isByAddress = how === 'address'

  const type = async (): Promise<void> => {
    one.guesses += 1
    const at = world.nameOf('v', one.id)
    const isExpired = Date.now() >= expiryOf(stage, one)
    const isOver = one.isOver || (isExpired && !model.isClockSet)
    const answer = await ask(stage, `${how} code for ${at}`, async (core) => {
      const identity = await identityOf(core, key)
      return isByAddress
        ? core.verifications.checkAddress(identity, { to: stored.recipient, code })
        : core.verifications.check(identity, one.id, { code })
    })
    if (answer === null) one.lost += 1
    if (!answer || 'code' in answer) return
    const { status, verification_id } = answer.value
    world.trace(`${how} code for ${at}: ${status}`)
    world.count(`code ${status}`)
    // The address may have a newer code than the person has.
    if (verification_id !== one.id) {
      if (!isByAddress) world.violate('a code belongs to its verification', `${at} for another`)
      return
    }
    if (how === 'wrong') noteWrong(status)
    else if (status === 'pending') world.violate('a right code is accepted', at)
    if (status === 'approved') noteApproval(stage, one, isOver)
  }

  function noteWrong(status: string): void {
    const at = world.nameOf('v', one.id)
    if (status === 'approved') world.violate('a wrong code is refused', at)
    if (status === 'pending') one.wrong += 1
    // The last of five ends the code.
    if (one.wrong > 4) world.violate('guesses are limited', `${at}: ${one.wrong}`)
  }

  model.open += 1
  later(() => {
    model.open -= 1
    for (let copy = 0; copy < copies; copy++) void type()
  }, wait_s * 1000)
}

function noteApproval({ world }: Stage, one: Verification, wasOver: boolean): void {
  const at = world.nameOf('v', one.id)
  if (wasOver) world.violate('a code that ended is not right', at)
  one.approvals += 1
  one.isOver = true
  if (one.approvals > 1) world.violate('a code is right once', `${at}: ${one.approvals}`)
}

/** The service sends a code again, on the same channel or another. */
export async function sendCodeAgain(stage: Stage, step: Doing<'codeAgain'>): Promise<void> {
  const { world, model } = stage
  const found = chosen(stage, step.which)
  if (!found?.stored) return
  const { one, key } = found
  const at = world.nameOf('v', one.id)
  const body = step.channel === 'same' ? {} : { channel: step.channel }
  const wasOver = one.isOver
  const idempotency_key = step.isKeyed ? `again-${step.which}-${model.asked.length}` : undefined
  let first: string | null = null
  for (let time = 0; time < (step.isKeyed ? 2 : 1); time++) {
    const answer = await ask(stage, `code again for ${at}`, async (core) =>
      core.verifications.resend(await identityOf(core, key), one.id, body, { idempotency_key }),
    )
    if (!answer || 'code' in answer) return
    const { test_code: _, ...data } = answer.value.data
    const bytes = JSON.stringify(data)
    world.trace(`code again for ${at}: ${world.nameOf('m', data.message_id)}`)
    if (wasOver) world.violate('a code that ended is not sent', at)
    if (first !== null && first !== bytes) world.violate('an idempotent answer is stable', at)
    first = bytes
  }
}

/** A client cancels a code, or approves it without the code. */
export async function endCode(stage: Stage, { which, how }: Doing<'codeEnd'>): Promise<void> {
  const { world } = stage
  const found = chosen(stage, which)
  if (!found) return
  const { one, key } = found
  const at = world.nameOf('v', one.id)
  const wasOver = one.isOver
  one.guesses += 1
  const answer = await ask(stage, `${how} ${at}`, async (core) => {
    const identity = await identityOf(core, key)
    return core.verifications[how](identity, one.id)
  })
  if (answer === null) one.lost += 1
  if (!answer || 'code' in answer) return
  world.trace(`${how} ${at}: ${answer.value.status}`)
  if (how === 'approve') noteApproval(stage, one, wasOver)
  else if (wasOver) world.violate('a code that ended is not right', `${at} was canceled later`)
  one.isOver = true
}
