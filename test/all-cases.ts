/** Whether tests with many similar cases run all of them, as `.ci/run` does; otherwise they run a part, so that `npm test` is quick. */
export const RUNS_ALL_CASES = process.env.SVC_TEST_CASES === 'all'
