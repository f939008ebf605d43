import { useState } from 'preact/hooks'
import { exactTime, number, utcDay } from '../shell/format.ts'
import { areDays, levelsOf, marksOf } from './axes.ts'

/** A line of a chart. `colour`: the name of a colour token, such as `--good`. */
export interface Series {
  name: string
  colour: string
  values: readonly (number | null)[]
}

/**
 * Lines over time. `times`: in seconds, ascending, all with the same distance. The legend has the values at the pointer, without one the
 * newest; its buttons hide and show lines.
 */
export function Chart({
  label,
  times,
  series,
}: {
  label: string
  times: readonly number[]
  series: readonly Series[]
}) {
  const [pointed, setPointed] = useState<number | null>(null)
  const [hidden, setHidden] = useState<readonly string[]>([])
  const shown = series.filter(({ name }) => !hidden.includes(name))
  const levels = levelsOf(shown.flatMap(({ values }) => values.filter((value) => value !== null)))
  const [lowest = 0, highest = 0] = [levels[0], levels.at(-1)]
  const last = times.length - 1
  // Both in percent of the area.
  const xOf = (position: number) => (100 * position) / (last || 1)
  const yOf = (value: number) => (100 * (highest - value)) / (highest - lowest)
  const at = Math.min(pointed ?? last, last)
  const at_ms = (times[at] ?? 0) * 1000
  return (
    <div class="chart">
      <svg
        role="img"
        aria-label={label}
        onMouseMove={({ currentTarget, clientX }) => {
          const { left, width } = currentTarget.getBoundingClientRect()
          setPointed(Math.max(0, Math.min(last, Math.round((last * (clientX - left)) / width))))
        }}
        onMouseLeave={() => setPointed(null)}
      >
        {levels.map((level) => (
          <g key={level}>
            <line x2="100%" y1={`${yOf(level)}%`} y2={`${yOf(level)}%`} />
            <text x="-8" dy="4" y={`${yOf(level)}%`} text-anchor="end">
              {number(level)}
            </text>
          </g>
        ))}
        <g class="times">
          {marksOf(times).map(([position, text]) => (
            <text key={position} x={`${xOf(position)}%`} y="100%" dy="20" text-anchor="middle">
              {text}
            </text>
          ))}
        </g>
        <svg viewBox="0 0 100 100" preserveAspectRatio="none" aria-hidden="true">
          {shown.map(({ name, colour, values }) => (
            <polyline
              key={name}
              stroke={`var(${colour})`}
              points={values
                .map((value, i) => (value === null ? '' : `${xOf(i)},${yOf(value)}`))
                .join(' ')}
            />
          ))}
        </svg>
        {pointed !== null && (
          <line
            x1={`${xOf(at)}%`}
            x2={`${xOf(at)}%`}
            y2="100%"
            stroke="var(--text-2)"
            stroke-dasharray="4"
          />
        )}
        {shown.map(({ name, colour, values }) => {
          // Without a neighbour, a value between gaps has no line.
          // A line through one point draws nothing.
          const hasGaps = values.length === 1 || values.includes(null)
          return values.map(
            (value, i) =>
              value !== null &&
              (hasGaps || (pointed !== null && i === at)) && (
                <circle
                  key={name + i}
                  cx={`${xOf(i)}%`}
                  cy={`${yOf(value)}%`}
                  r="3"
                  fill={`var(${colour})`}
                />
              ),
          )
        })}
      </svg>
      <p class="small">
        {areDays(times) ? utcDay(at_ms) : exactTime(new Date(at_ms))}
        {series.map(({ name, colour, values }) => {
          const value = values[at] ?? null
          const isHidden = hidden.includes(name)
          return (
            <button
              key={name}
              type="button"
              aria-pressed={!isHidden}
              onClick={() =>
                setHidden(isHidden ? hidden.filter((one) => one !== name) : [...hidden, name])
              }
            >
              <i style={{ background: `var(${colour})` }} />
              {name}: {value === null ? '–' : number(value)}
            </button>
          )
        })}
      </p>
    </div>
  )
}
