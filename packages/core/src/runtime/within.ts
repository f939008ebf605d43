/**
 * Returns the result of `work`, or the result of `onTimeout` when the work takes longer than `ms`. A timeout does not stop
 * the work, and the work's later result or error is ignored.
 * @throws the error of `work` or of `onTimeout`.
 */
export async function within<T>(
  ms: number,
  work: Promise<T>,
  onTimeout: () => T | Promise<T>,
): Promise<T> {
  let timer: NodeJS.Timeout | undefined
  const timeout = new Promise<void>((resolve) => {
    timer = setTimeout(resolve, ms)
  })
  try {
    return await Promise.race([work, timeout.then(onTimeout)])
  } finally {
    clearTimeout(timer)
  }
}
