/** Remembers what became of the latest writes, so that the health tells whether the database takes any. */
export interface WriteWatch {
  /** Notes that changes reached the disk. */
  wrote(): void
  /** Notes an error of a statement; one that says nothing of the database's ability to write is ignored. */
  failed(error: unknown): void
  /**
   * Resolves when the latest writes reached the disk. Where none was made for two seconds, makes `probe`'s; callers share
   * it.
   * @throws Error when the disk refused a write within the last ten seconds, or refuses the probe.
   */
  check(): Promise<void>
}

/**
 * For so long a failed write counts. A disk that is nearly full takes small writes, such as the probe's, between large
 * ones that fail: the answer must not change with each.
 */
const FAILURE_COUNTS_MS = 10_000

/** For so long a write that reached the disk counts: the probe writes no more often, however often the health is asked. */
const SUCCESS_COUNTS_MS = 2_000

export function createWriteWatch({
  refuses,
  probe,
  now = () => performance.now(),
}: {
  /** Whether an error means that the database takes no writes: a full or read-only disk, an I/O error. */
  refuses: (error: unknown) => boolean
  /** One small write that reaches the disk. */
  probe: () => Promise<void>
  /** Milliseconds of a clock that never goes back. */
  now?: () => number
}): WriteWatch {
  let wrote_at = Number.NEGATIVE_INFINITY
  let failed_at = Number.NEGATIVE_INFINITY
  let probing: Promise<void> | null = null

  function wrote(): void {
    wrote_at = now()
  }

  function failed(error: unknown): void {
    if (refuses(error)) failed_at = now()
  }

  async function probeOnce(): Promise<void> {
    try {
      await probe()
      wrote()
    } finally {
      probing = null
    }
  }

  return {
    wrote,
    failed,
    async check() {
      // The error itself may quote what was to be written.
      if (now() - failed_at < FAILURE_COUNTS_MS) throw new Error('the disk refused a write')
      if (now() - wrote_at < SUCCESS_COUNTS_MS) return
      probing ??= probeOnce()
      await probing
    },
  }
}
