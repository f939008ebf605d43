/** Remembers the outcome of the latest writes, for the health check. */
export interface WriteWatch {
  /** Records that changes reached the disk. */
  wrote(): void
  /** Records the error of a statement; an error that does not concern the ability to write is ignored. */
  failed(error: unknown): void
  /**
   * Resolves when the latest writes reached the disk. After two seconds without a write, makes the write of `probe`;
   * simultaneous callers share this write.
   * @throws Error when the disk refused a write within the last ten seconds, or refuses the probe.
   */
  check(): Promise<void>
}

/**
 * How long a failed write counts. A nearly full disk takes small writes, such as the probe's, between large writes that
 * fail: the health must not change with each write.
 */
const FAILURE_COUNTS_MS = 10_000

/** How long a successful write counts. It limits how often the probe writes when the health is checked often. */
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
  /** The time of a monotonic clock, in milliseconds. */
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
      // The original error is left out, because it may quote values.
      if (now() - failed_at < FAILURE_COUNTS_MS) throw new Error('the disk refused a write')
      if (now() - wrote_at < SUCCESS_COUNTS_MS) return
      probing ??= probeOnce()
      await probing
    },
  }
}
