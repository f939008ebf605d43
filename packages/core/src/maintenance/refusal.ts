/** The reason why a move, a backup or a restore was refused: a stable word from which callers choose their advice. */
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
  | 'sqlite'
  | 'not_partitioned'
  | 'not_ready'
  | 'interrupted'
  | 'changed'
  | 'invalid_file'

/** An error with the reason in one line; nothing was changed. */
export function refusal(code: RefusalCode, message: string, cause?: unknown): Error {
  const error = new Error(message, cause === undefined ? undefined : { cause })
  return Object.assign(error, { name: 'ArchiveRefusal', code })
}
