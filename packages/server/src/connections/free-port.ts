const TRIES_MAX = 100

/**
 * Listens at the first free port at or above `from`. The port is found by listening, because another program may take a port
 * that was only looked at; port 0 is the system's choice.
 * @throws the error of `listen`: with the code EADDRINUSE that of the first port, when 100 ports are in use.
 */
export async function atFreePort<T>(
  from: number,
  listen: (port: number) => Promise<T>,
): Promise<T> {
  let first: unknown
  for (let port = from; port < from + TRIES_MAX && port <= 65_535; port++) {
    try {
      return await listen(port)
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'EADDRINUSE') throw error
      first ??= error
    }
  }
  throw first
}
