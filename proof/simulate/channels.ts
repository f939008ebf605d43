import { type Stage, sendCopies } from './client.ts'
import { numberOf } from './model.ts'
import type { Step } from './script.ts'

type Doing<K extends Step['do']> = Extract<Step, { do: K }>

/** What clients do on channels with rules of their own. */
export function performOnChannel(stage: Stage, step: Doing<'call'> | Doing<'mail'>): void {
  if (step.do === 'call') call(stage, step)
  else mail(stage, step)
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

/** An e-mail, mostly to several people. Its subject decides what happens to it. */
function mail(stage: Stage, step: Doing<'mail'>): void {
  const { people, fate } = step
  const bcc = Math.min(step.bcc, people.length - 1)
  const cc = Math.min(step.cc, people.length - 1 - bcc)
  const addresses = people.map((person) => `p${person}@people.example`)
  const to = addresses.slice(0, people.length - cc - bcc)
  const content = {
    subject: `Order ${fate}`,
    text: 'It is ready',
    cc: addresses.slice(to.length, to.length + cc),
    bcc: addresses.slice(to.length + cc),
  }
  sendCopies(stage, step, { channel: 'email', to, content })
}
