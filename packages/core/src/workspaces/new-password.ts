import { readFile } from 'node:fs/promises'
import { invalid } from '../contract/errors.ts'
import type { WorkspaceRow } from '../rows/rows.ts'

type Field = 'password' | 'new_password'

/** Which new passwords are refused, beside those of a wrong length. */
export interface NewPasswordRule {
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
export function newPasswordRule({ accepts_any }: { accepts_any: boolean }): NewPasswordRule {
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
