import { holdsSecret } from '@svc/server/settings'
import type { Questions } from '../input/question.ts'
import { defaultOf } from './setting-texts.ts'

/** A question of `svc init`. */
export interface Choice {
  env: string
  /** The name that commander gives to the option. */
  option: string
  question: string
  /** The meaning of the setting. `svc init` shows it when it writes the setting. */
  meaning: string
  /** Whether the earlier answers make the question needless. */
  isNeedless?: (chosen: ReadonlyMap<string, string>) => boolean
}

/** The questions of `svc init`, in this order. */
export const CHOICES: readonly Choice[] = [
  {
    env: 'HOST',
    option: 'host',
    question: 'Which address should it listen on? (0.0.0.0: all addresses of this machine)',
    meaning: 'the address it listens on; only this machine reaches 127.0.0.1',
  },
  {
    env: 'PORT',
    option: 'port',
    question: 'Which port?',
    meaning: 'the port it listens on',
  },
  {
    env: 'SVC_DATABASE_URL',
    option: 'database',
    question: 'Which database? (Enter: a SQLite file in the data folder; or postgres://…)',
    meaning: 'the database',
  },
  {
    env: 'SVC_DATA_DIR',
    option: 'dataDir',
    question: 'Which data folder?',
    meaning: 'the folder of the database; back it up',
  },
  {
    env: 'SVC_PUBLIC_URL',
    option: 'publicUrl',
    question: 'What is its public address? (https://…; Enter: the address it listens on)',
    meaning: 'the base of links in mails and of the callback URLs for providers',
  },
  {
    env: 'SVC_TRUST_PROXY',
    option: 'trustProxy',
    question: 'Which networks are its reverse proxies in? (such as 10.0.0.0/8; Enter: none)',
    meaning: 'the proxies whose X-Forwarded-For is trusted for rate limits',
    isNeedless: (chosen) => !chosen.get('SVC_PUBLIC_URL')?.startsWith('https://'),
  },
  {
    env: 'SVC_SIGNUP_CREDITS',
    option: 'signupCredits',
    question: 'How many credits does a new workspace get?',
    meaning: 'the credits of a new workspace',
  },
]

/** Asks the questions that no option answers; repeats a question after an invalid answer. */
export async function askChoices(
  questions: Questions,
  preset: ReadonlyMap<string, string>,
  { print, withSecrets }: { print: (text: string) => void; withSecrets: boolean },
): Promise<{ chosen: ReadonlyMap<string, string>; keepSecrets: boolean }> {
  const chosen = new Map(preset)
  for (const choice of CHOICES) {
    if (chosen.has(choice.env) || choice.isNeedless?.(chosen)) continue
    const text = await askChoice(questions, choice, { chosen, print })
    if (text !== '') chosen.set(choice.env, text)
  }
  if (withSecrets || !(await hasSecret(chosen))) return { chosen, keepSecrets: withSecrets }
  const answer = await questions.ask('Write the password of the database to the file?', 'n')
  return { chosen, keepSecrets: /^y(es)?$/i.test(answer) }
}

async function askChoice(
  questions: Questions,
  choice: Choice,
  { chosen, print }: { chosen: ReadonlyMap<string, string>; print: (text: string) => void },
): Promise<string> {
  for (;;) {
    const text = await questions.ask(choice.question, defaultOf(choice.env))
    const fault = text === '' ? null : await checkChoice(choice, text, chosen)
    if (fault === null) return text
    print(`  ${fault}`)
  }
}

/** Returns the fault that the reader of the settings finds in an answer; null for a valid answer. */
export async function checkChoice(
  { env }: Choice,
  text: string,
  chosen: ReadonlyMap<string, string>,
): Promise<string | null> {
  const { readConfig } = await import('@svc/server')
  try {
    readConfig({ ...Object.fromEntries(chosen), [env]: text })
    return null
  } catch (error) {
    return (error as Error).message
  }
}

async function hasSecret(chosen: ReadonlyMap<string, string>): Promise<boolean> {
  const { SETTINGS } = await import('@svc/server/settings')
  return SETTINGS.some((setting) => holdsSecret(setting, chosen.get(setting.env) ?? ''))
}
