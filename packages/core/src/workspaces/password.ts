import { readFile } from 'node:fs/promises'
import { invalid, SvcError } from '../contract/errors.ts'

import type { WorkspaceRow } from '../rows/rows.ts'

/** The minimum that OWASP recommends for argon2id. */
const PARAMETERS = { memoryCost: 19_456, timeCost: 2, parallelism: 1 }

/** The hash of a random password with these parameters: a login to an unknown address is compared with this hash. */
const DECOY =
  '$argon2id$v=19$m=19456,t=2,p=1$WZ0PDfog0V+PWErMX5Fskg$E7TM0Wf5kwFJ2LA0NX366UR9cR2TwNC7jal2O/psNco'

/** The maximum number of simultaneous hashes, because each hash takes 19 MiB and a thread. */
const AT_ONCE_MAX = 2
const WAITING_MAX = 200

export interface Passwords extends NewPasswordRule {
  hash(password: string): Promise<string>
  /** Whether the password has this hash. Takes the same time with a hash and with null. */
  verify(hash: string | null, password: string): Promise<boolean>
  /** Whether the hash was made with other parameters than the current ones. */
  isOutdated(hash: string): Promise<boolean>
}

/** Hashes with argon2id, which is loaded with the first password. `accepts_any`: see `newPasswordRule`. */
export function createPasswords({ accepts_any = false } = {}): Passwords {
  const waiting: (() => void)[] = []
  let running = 0

  async function limited<T>(work: () => Promise<T>): Promise<T> {
    if (running >= AT_ONCE_MAX) {
      if (waiting.length >= WAITING_MAX) {
        throw new SvcError('rate_limit_exceeded', 'Too many requests. Please try again later.', {
          retry_after_s: 5,
        })
      }
      // Work that ends passes its place to the next work, so `running` does not change.
      await new Promise<void>((resolve) => waiting.push(resolve))
    } else running += 1
    try {
      return await work()
    } finally {
      const next = waiting.shift()
      if (next) next()
      else running -= 1
    }
  }

  const argon2 = () => import('argon2')
  const hash = (password: string) =>
    limited(async () => (await argon2()).hash(password, PARAMETERS))
  return {
    ...newPasswordRule({ accepts_any }),
    hash,
    async verify(stored, password) {
      const matches = await limited(async () => (await argon2()).verify(stored ?? DECOY, password))
      return matches && stored !== null
    },
    isOutdated: async (stored) => (await argon2()).needsRehash(stored, PARAMETERS),
  }
}

type Field = 'password' | 'new_password'

/** Which new passwords are refused, beside those of a wrong length. */
interface NewPasswordRule {
  /**
   * Refuses one of the 10,000 most common passwords, in any case and character width.
   * @throws SvcError `validation_error`.
   */
  checkNew(field: Field, password: string): Promise<void>
  /**
   * Refuses the public address and name of a workspace as its password, in any case.
   * @throws SvcError `validation_error`.
   */
  checkNotOwn(field: Field, password: string, own: Pick<WorkspaceRow, 'email' | 'name'>): void
}

/** `accepts_any`: refuses nothing, for a service on the machine of a developer. */
function newPasswordRule({ accepts_any }: { accepts_any: boolean }): NewPasswordRule {
  if (accepts_any) return { checkNew: async () => {}, checkNotOwn() {} }
  return { checkNew: checkUncommon, checkNotOwn }
}

let common: Promise<ReadonlySet<string>> | undefined

/** The list is read when the first password is checked. */
async function checkUncommon(field: Field, password: string): Promise<void> {
  common ??= readCommon().catch((error) => {
    common = undefined
    throw error
  })
  if (!(await common).has(comparable(password))) return
  throw invalid(field, 'Password is one of the most common ones: choose another')
}

function checkNotOwn(
  field: Field,
  password: string,
  { email, name }: Pick<WorkspaceRow, 'email' | 'name'>,
): void {
  const text = comparable(password)
  if (text !== comparable(email) && text !== comparable(name)) return
  throw invalid(field, 'Password must not be the e-mail address or the name of the workspace')
}

/** Full-width and other forms of the same letters are equally easy to guess. */
function comparable(text: string): string {
  return text.normalize('NFKC').toLowerCase()
}

/** @throws Error when the package is incomplete. */
async function readCommon(): Promise<ReadonlySet<string>> {
  // data/ is in the package root: bundled code is one folder below it, sources are two folders below it.
  for (const up of ['..', '../..']) {
    const text = await textOf(new URL(`${up}/data/common-passwords.txt`, import.meta.url))
    if (text !== null) return new Set(text.split('\n').filter((line) => !line.startsWith('#')))
  }
  throw new Error('the package is incomplete: data/common-passwords.txt is missing')
}

async function textOf(file: URL): Promise<string | null> {
  try {
    return await readFile(file, 'utf8')
  } catch (error) {
    if ((error as { code?: unknown }).code === 'ENOENT') return null
    throw error
  }
}
