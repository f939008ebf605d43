import { CLIENTS } from './clients.ts'
import { CLOCK } from './clock.ts'
import { DISK } from './disk.ts'
import { LOG } from './log.ts'
import { PROCESS } from './process.ts'
import type { Scenario } from './scenario.ts'

/** All scenarios, in their order. */
export const SCENARIOS: readonly Scenario[] = [...DISK, ...LOG, ...CLOCK, ...PROCESS, ...CLIENTS]
