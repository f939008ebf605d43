import { measure, modelled } from './measure.ts'
import { report } from './report.ts'

// What each step of docs/operating/scaling.md carries, computed from the measured costs of this machine's database.
// npm run capacity -- [--quick]

const quick = process.argv.includes('--quick')
const measurements = await measure(quick, (text) => console.error(`measuring ${text} …`))
for (const line of report(measurements, modelled(measurements))) console.log(line)
