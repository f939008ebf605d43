import type { Questions } from '../input/question.ts'
import { holdsSecret } from './masked.ts'
import { defaultOf } from './setting-texts.ts'

/** Something that `svc init` asks. */
export interface Choice {
  env: string
  /** The name of its option, as commander calls it. */
  option: string
  question: string
  /** What is told of it when it is written. */
  meaning: string
  /** Whether it need not be asked after what was chosen before. */
  isNeedless?: (chosen: ReadonlyMap<string, string>) => boolean
}

/** What `svc init` asks, in this order. */
export const CHOICES: readonly Choice[] = [
  {
    env: 'HOST',
    option: 'host',
    question: 'Which address to listen on? (0.0.0.0: every one of this machine)',
    meaning: 'where it listens; 127.0.0.1 is reached from this machine alone',
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
    question: 'Which database? (Enter: a SQLite file in the data folder; else postgres://…)',
    meaning: 'where everything is kept',
  },
  {
    env: 'SVC_DATA_DIR',
    option: 'dataDir',
    question: 'Which folder for its data?',
    meaning: 'the folder of the database; it must be backed up',
  },
  {
    env: 'SVC_PUBLIC_URL',
    option: 'publicUrl',
    question: 'At which address do others reach it? (https://…; Enter: the one it listens on)',
    meaning: 'links in mails and callbacks of providers begin with it',
  },
  {
    env: 'SVC_TRUST_PROXY',
    option: 'trustProxy',
    question:
      'Which networks are the proxies in, that stand in front? (as 10.0.0.0/8; Enter: none)',
    meaning: "whose word on a client's address is taken; rate limits go by it",
    isNeedless: (chosen) => !chosen.get('SVC_PUBLIC_URL')?.startsWith('https://'),
  },
  {
    env: 'SVC_SIGNUP_CREDITS',
    option: 'signupCredits',
    question: 'With how many credits does a new workspace begin?',
    meaning: 'the credits that whoever signs up begins with',
  },
]

/** Asks what was not given; what cannot be meant is asked again. */
export async function askChoices(
  questions: Questions,
  given: ReadonlyMap<string, string>,
  { tell, withSecrets }: { tell: (text: string) => void; withSecrets: boolean },
): Promise<{ chosen: ReadonlyMap<string, string>; keepSecrets: boolean }> {
  const chosen = new Map(given)
  for (const choice of CHOICES) {
    if (chosen.has(choice.env) || choice.isNeedless?.(chosen)) continue
    const text = await askChoice(questions, choice, { chosen, tell })
    if (text !== '') chosen.set(choice.env, text)
  }
  if (withSecrets || !(await hasSecret(chosen))) return { chosen, keepSecrets: withSecrets }
  const answer = await questions.ask('Write the password of the database into the file?', 'n')
  return { chosen, keepSecrets: /^y(es)?$/i.test(answer) }
}

async function askChoice(
  questions: Questions,
  choice: Choice,
  { chosen, tell }: { chosen: ReadonlyMap<string, string>; tell: (text: string) => void },
): Promise<string> {
  for (;;) {
    const text = await questions.ask(choice.question, defaultOf(choice.env))
    const fault = text === '' ? null : await checkChoice(choice, text, chosen)
    if (fault === null) return text
    tell(`  ${fault}`)
  }
}

/** What is wrong with an answer, by the reader that a start uses; null when nothing is. */
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
