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

/** The same of a function, which is made when it is first called. */
export function whenCalled<Args extends readonly unknown[], Result>(
  make: () => (...args: Args) => Result,
): (...args: Args) => Result {
  let made: ((...args: Args) => Result) | undefined
  return (...args) => {
    made ??= make()
    return made(...args)
  }
}
