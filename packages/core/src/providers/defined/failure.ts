const NAME = /^[A-Za-z][A-Za-z0-9_]{0,63}$/
const FRAME_END = /:\d{1,9}:\d{1,9}\)?$/
/** More than the longest end of a frame. */
const FRAME_END_LENGTH = 24
const FRAMES_MAX = 3
const FRAME_LENGTH = 300
const STACK_LENGTH = 20_000

/** What was thrown, without its message, which may contain secrets and contents. */
export function failureOf(thrown: unknown): { fault: string; at: string[] } {
  try {
    if (!(thrown instanceof Error))
      return { fault: `threw a value of type ${typeof thrown}`, at: [] }
    const codes = [codeOf(thrown), codeOf(thrown.cause)].filter((code) => code !== null)
    const name = NAME.test(thrown.name) ? thrown.name : 'Error'
    return { fault: [name, ...new Set(codes)].join(' '), at: framesOf(thrown) }
  } catch {
    // A getter of the value threw.
    return { fault: 'threw a value that cannot be read', at: [] }
  }
}

function codeOf(thrown: unknown): string | null {
  const { code } = (thrown ?? {}) as { code?: unknown }
  return typeof code === 'string' && NAME.test(code) ? code : null
}

/** The innermost places of a stack. The message before them is skipped, because it may have lines that look like places. */
function framesOf({ stack, message }: Error): string[] {
  if (typeof stack !== 'string' || stack.length > STACK_LENGTH) return []
  const start = stack.indexOf(message)
  const places = start === -1 ? '' : stack.slice(start + message.length)
  return places
    .split('\n')
    .map((line) => line.trim())
    .filter((line) => line.startsWith('at ') && FRAME_END.test(line.slice(-FRAME_END_LENGTH)))
    .map((line) => line.slice('at '.length))
    .slice(0, FRAMES_MAX)
    .map((frame) => frame.slice(0, FRAME_LENGTH))
}
