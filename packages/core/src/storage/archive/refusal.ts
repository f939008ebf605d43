/** Why a move, a backup or a restore was refused: a stable word for whoever can say what helps. */
export type RefusalCode =
  | 'in_use'
  | 'not_found'
  | 'not_empty'
  | 'behind'
  | 'newer'
  | 'foreign'
  | 'truncated'
  | 'altered'
  | 'not_equal'
  | 'exists'
  | 'no_folder'
  | 'no_space'
  | 'damaged'
  | 'unsealed'

/** An error that says in one line why it did not happen; nothing was changed. */
export function refusal(code: RefusalCode, message: string, cause?: unknown): Error {
  const error = new Error(message, cause === undefined ? undefined : { cause })
  return Object.assign(error, { name: 'ArchiveRefusal', code })
}
