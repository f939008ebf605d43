import { SvcError } from '../../src/contract/errors.ts'

/** What work answers; `invalid` and the field where it says so; `impossible` where it cannot be done at all. */
export async function attempt<T>(work: () => Promise<T>): Promise<T | string> {
  try {
    return await work()
  } catch (error) {
    if (error instanceof SvcError) return `invalid ${error.details?.[0]?.path}`
    return 'impossible'
  }
}
