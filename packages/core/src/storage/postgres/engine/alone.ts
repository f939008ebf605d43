import type pg from 'pg'

/**
 * Runs `work` while holding the advisory lock of that name, or returns null when another process holds it. The lock
 * belongs to a connection: it ends with the process, even after a crash.
 */
export async function alone<T>(
  pool: pg.Pool,
  name: string,
  work: () => Promise<T>,
): Promise<T | null> {
  const client = await pool.connect()
  const key = 'hashtextextended($1, 0)'
  let fault: Error | undefined
  try {
    const { rows } = await client.query(`select pg_try_advisory_lock(${key}) as is_mine`, [name])
    if (!rows[0]?.is_mine) return null
    try {
      return await work()
    } finally {
      await client.query(`select pg_advisory_unlock(${key})`, [name]).catch((lost: Error) => {
        fault = lost
      })
    }
  } finally {
    client.release(fault)
  }
}
