/**
 * What `work` comes to, if it comes to anything within so long. The work itself goes on.
 * @throws Error when it is late, or what `whenLate` makes.
 */
export async function inTime<T>(
  max_ms: number,
  work: Promise<T>,
  whenLate: () => Error = () => new Error(`no answer within ${max_ms} ms`),
): Promise<T> {
  let timer: NodeJS.Timeout | undefined
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(whenLate()), max_ms)
  })
  try {
    return await Promise.race([work, late])
  } finally {
    clearTimeout(timer)
  }
}
