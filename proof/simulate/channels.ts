import { type Stage, sendCopies } from './client.ts'
import { numberOf } from './model.ts'
import type { Step } from './script.ts'

type Doing<K extends Step['do']> = Extract<Step, { do: K }>

/** What clients do on channels with rules of their own. */
export function performOnChannel(stage: Stage, step: Doing<'call'>): void {
  call(stage, step)
}

/** The service holds the price of one, two and three minutes for these. */
const CALLS: Readonly<Record<Doing<'call'>['minutes'], object>> = {
  1: { text: 'Your code is 1234' },
  2: { text: 'Your order is ready. '.repeat(33) },
  3: { audio_url: 'https://files.example/greeting.mp3' },
}

function call(stage: Stage, step: Doing<'call'>): void {
  const content = CALLS[step.minutes]
  sendCopies(stage, step, { channel: 'voice', to: numberOf(step.fate), content })
}
