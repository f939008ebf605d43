/** Whether tests with many similar cases run all of them, as `.ci/run` does; otherwise they run a part, so that `npm test` is quick. */
export const RUNS_ALL_CASES = process.env.SVC_TEST_CASES === 'all'

/** These start and end services, databases and commands many times, or compile programs. */
const LONG_RUNS = [
  'packages/cli/test/bulk-crash.test.ts',
  'packages/cli/test/processes.test.ts',
  'packages/cli/test/rolling-restart.test.ts',
  'packages/cli/test/spawned.test.ts',
  'packages/core/test/postgres/failover.test.ts',
  'packages/testkit/test/packed.test.ts',
  'test/crash-postgres.test.ts',
  'test/crash-broadcast.test.ts',
  'test/crash-replies.test.ts',
  'test/failover.test.ts',
  'test/docs/commands.test.ts',
  'test/docs/samples.test.ts',
  'test/faults.test.ts',
  'test/power-cut.test.ts',
  'test/slow-inputs.test.ts',
]

/** The files and folders that the command names. */
export const NAMED = process.argv.slice(2).filter((argument) => /^[^-].*[/.]/.test(argument))

/** The files that a run of everything leaves out, unless it runs all cases or the command names them. */
export const LEFT_OUT = RUNS_ALL_CASES
  ? []
  : LONG_RUNS.filter((file) => !NAMED.some((name) => name.endsWith(file) || file.includes(name)))
