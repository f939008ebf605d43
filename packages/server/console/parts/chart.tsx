import { useEffect, useRef } from 'preact/hooks'
import type uPlot from 'uplot'
import { exactTime, utcDay } from '../shell/format.ts'
import { LOCALE, t } from '../shell/text.ts'
import { inputTime, timeZone, zoned } from '../shell/time-zone.ts'

/** A line of a chart. `colour`: the name of a colour token, such as `--good`. */
export interface Series {
  name: string
  colour: string
  values: readonly (number | null)[]
}

const HEIGHT = 220
const DAY_S = 86_400

/** The steps of an axis of counts: 1, 2, 5, 10 and so on, because half a message is none. */
const STEPS = Array.from(
  { length: 27 },
  (_, i) => ([1, 2, 5][i % 3] ?? 1) * 10 ** Math.trunc(i / 3),
)

/** Whether the points are days, which are days of UTC. */
function areDays([first = 0, second = 0]: readonly number[]): boolean {
  return second - first >= DAY_S
}

/** Lines over time. `times`: in seconds. The library is loaded with the first chart. */
export function Chart({
  label,
  times,
  series,
}: {
  label: string
  times: readonly number[]
  series: readonly Series[]
}) {
  const element = useRef<HTMLDivElement>(null)
  const content = JSON.stringify([times, series])
  useEffect(() => {
    let plot: uPlot | null = null
    let isGone = false
    const { current } = element
    const resized = new ResizeObserver(() => {
      if (current) plot?.setSize({ width: current.clientWidth, height: HEIGHT })
    })
    const scheme = matchMedia('(prefers-color-scheme: dark)')
    const draw = async () => {
      const { default: Plot } = await import('uplot')
      if (isGone || !current) return
      plot?.destroy()
      plot = new Plot(
        {
          ...optionsOf(current, times, series),
          tzDate: (time_s) =>
            Plot.tzDate(new Date(time_s * 1000), areDays(times) ? 'UTC' : timeZone()),
        },
        [[...times], ...series.map(({ values }) => [...values])],
        current,
      )
    }
    void draw()
    scheme.addEventListener('change', draw)
    if (current) resized.observe(current)
    return () => {
      isGone = true
      scheme.removeEventListener('change', draw)
      resized.disconnect()
      plot?.destroy()
    }
  }, [content])
  return <div class="chart" role="img" aria-label={label} ref={element} />
}

function optionsOf(
  element: HTMLElement,
  times: readonly number[],
  series: readonly Series[],
): uPlot.Options {
  const isDays = areDays(times)
  const style = getComputedStyle(element)
  const colour = (name: string) => style.getPropertyValue(name).trim()
  const axis = {
    stroke: colour('--text-2'),
    grid: { stroke: colour('--line'), width: 1 },
    ticks: { show: false },
  }
  return {
    width: element.clientWidth,
    height: HEIGHT,
    cursor: { y: false },
    legend: { live: true },
    axes: [
      { ...axis, values: (_, ticks) => ticks.map(isDays ? dayTick : tickText) },
      { ...axis, size: 48, incrs: STEPS },
    ],
    scales: { y: { range: (_, min, max) => [Math.min(0, min ?? 0), Math.max(4, max ?? 0)] } },
    series: [
      {
        label: t('Time'),
        // Without a pointer: the newest.
        value: (_, time) => {
          const at_ms = (time ?? times.at(-1) ?? 0) * 1000
          return isDays ? utcDay(at_ms) : exactTime(new Date(at_ms))
        },
      },
      ...series.map(({ name, colour: token, values }) => ({
        label: name,
        stroke: colour(token),
        width: 2,
        value: (_: uPlot, value: number | null, __: number, at: number | null) =>
          (at == null ? values.at(-1) : value) ?? '–',
        // Without a neighbour, a value between gaps has no line.
        spanGaps: true,
        points: { show: values.includes(null) },
      })),
    ],
  }
}

const CLOCK = zoned(LOCALE, {
  hour: '2-digit',
  minute: '2-digit',
  hour12: false,
})
const DATE_PARTS = { month: 'short', day: 'numeric' } as const
const DATE = zoned(LOCALE, DATE_PARTS)

const UTC_DATE = new Intl.DateTimeFormat(LOCALE, { ...DATE_PARTS, timeZone: 'UTC' })

/** A time of an axis of days: between two days, it has no text. */
function dayTick(time_s: number): string {
  return time_s % DAY_S === 0 ? UTC_DATE.format(time_s * 1000) : ''
}

/** A time of the axis: its date at the start of a day, otherwise its clock time. */
function tickText(time_s: number): string {
  const at = time_s * 1000
  return (inputTime(at).endsWith('T00:00') ? DATE : CLOCK)(at)
}
