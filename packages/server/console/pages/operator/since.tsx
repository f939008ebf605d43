import { Time } from '../../parts/index.ts'

export const since = (at: string | null) => (at ? <Time at={at} /> : '–')
