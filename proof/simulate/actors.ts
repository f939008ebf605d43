import type { Stage } from './client.ts'
import { elapsedMs } from './clock.ts'
import { burst, endCode, guess, sendCodeAgain, startCode } from './codes.ts'
import { changeDomain } from './domains.ts'
import { redatePending } from './invariants/deliveries.ts'
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
import { CALLBACK_RECEIVER, PRICE_LISTS, PROVIDERS, type ProviderName } from './model.ts'
import { adjust, checkPayment, grant, pauseAll, pauseOne, terms } from './operators.ts'
import { addHook, buy, changeHook, revoke } from './owners.ts'
import { erase, writeBack } from './people.ts'
import { question, refuse } from './questions.ts'
import { mixed } from './random.ts'
import type { Doing, Step } from './script.ts'
import {
  again,
  bulk,
  call,
  cancelBulk,
  forget,
  mail,
  oneMessage,
  repeat,
  send,
  stranger,
  text,
} from './sends.ts'

/** Carries out one step of a script. What it starts goes on after it. */
export function perform(stage: Stage, step: Step): void {
  const { world, model } = stage
  world.count(step.do)
  switch (step.do) {
    case 'send':
      send(stage, step)
      break
    case 'repeat':
      repeat(stage, step)
      break
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
      configure(stage, step.which)
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
      if (step.how === 'start') {
        grant(stage, { ...step, do: 'grant', credits: 30, copies: 1, expires_s: 0 })
      }
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
      void pauseOne(stage, nameOf(step.which), step.do === 'pauseProvider')
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
      redatePending({ world, model, database: stage.database() })
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

/** An operator starts the service again with other prices, and sometimes without a provider or a key of secrets. */
function configure({ world }: Stage, prices: number): void {
  const draw = mixed(world.seed, Math.floor(elapsedMs()), 22)
  const without = draw % 3 === 0 ? nameOf(draw >>> 8) : null
  const isKeyMissing = (draw >>> 12) % 2 === 0
  const missing = [without, isKeyMissing && 'a key'].filter((one) => one).join(', ')
  world.trace(`the prices are ${JSON.stringify(PRICE_LISTS[prices])}; missing: ${missing}`)
  world.configure({ prices, without, isKeyMissing })
}

function changeReceiver(
  { world, model }: Stage,
  receiver: number,
  mood: Doing<'receiver'>['mood'],
): void {
  model.receivers.set(receiver, mood)
  // A 410 disables its webhook.
  if (mood === 'gone') {
    for (const hook of model.hooks) if (hook.receiver === receiver) hook.isWhole = false
  }
  world.trace(`receiver ${receiver} is ${mood}`)
}

const nameOf = (which: number): ProviderName => PROVIDERS[which % PROVIDERS.length]?.name ?? 'plain'
