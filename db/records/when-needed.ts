/** What is made when it is first asked for something: to prepare all statements takes longer than a command that runs five. */
export function whenNeeded<Made extends object>(make: () => Made): Made {
  let made: Made | undefined
  return new Proxy({} as Made, {
    get(_, name) {
      made ??= make()
      return made[name as keyof Made]
    },
  })
}
