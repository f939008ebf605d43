/** What became of a piece of work: `done`, or the code it failed with; and after how long. */
export async function timed(
  work: () => Promise<unknown>,
): Promise<{ outcome: string; ms: number }> {
  const begun = performance.now()
  const outcome = await work().then(
    () => 'done',
    (error: { code?: string }) => String(error.code),
  )
  return { outcome, ms: performance.now() - begun }
}
