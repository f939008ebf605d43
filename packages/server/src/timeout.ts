/**
 * The result of `work`, if it comes within `max_ms`. A timeout does not stop the work.
 * @throws Error on a timeout: the one that `timeoutError` makes.
 */
export async function withTimeout<T>(
  max_ms: number,
  work: Promise<T>,
  timeoutError: () => Error = () => new Error(`no answer within ${max_ms} ms`),
): Promise<T> {
  let timer: NodeJS.Timeout | undefined
  const timeout = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(timeoutError()), max_ms)
  })
  try {
    return await Promise.race([work, timeout])
  } finally {
    clearTimeout(timer)
  }
}
