import { measure, modelled } from './measure.ts'
import { report } from './report.ts'

// What each step of docs/operating/scaling.md can carry, from what this machine's database costs.
// npm run build, then: node --import tsx bench/scaling/run.ts [--quick]

const quick = process.argv.includes('--quick')
const measurements = await measure(quick, (text) => console.error(`measuring ${text} …`))
for (const line of report(measurements, modelled(measurements))) console.log(line)
