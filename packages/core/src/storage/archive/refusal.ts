/** Why a move was refused: a stable word for whoever can say what helps. */
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

/** An error that says in one line why a move did not happen; nothing was changed. */
export function refusal(code: RefusalCode, message: string, cause?: unknown): Error {
  const error = new Error(message, cause === undefined ? undefined : { cause })
  return Object.assign(error, { name: 'ArchiveRefusal', code })
}
