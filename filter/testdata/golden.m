% Golden values for packages filter and sim/thesis, written with GNU Octave's own median and
% with the formulas in their textbook form. Run from the root of the tree
% (Debian: apt-get install octave):
%
%	octave-cli --norc filter/testdata/golden.m dynamic > filter/testdata/golden.txt
%	octave-cli --norc filter/testdata/golden.m ema median oneeuro > sim/thesis/testdata/filters.txt
%
% The samples come from a generator of its own, so every Octave writes the same
% inputs. The format is three lines a sequence: the filter with its
% parameters, the samples and the levels. The filters and their parameters:
%
%	dynamic N NORM HOLD FAST DELTA KAPPA
%	ema GAIN
%	median WINDOW GAIN
%	oneeuro RATE MINCUTOFF BETA DERIVATIVECUTOFF
1;

function x = draw()  % uniform in [0,1] with four decimals: exact as text
  persistent seed = 54321;
  seed = mod(16807 * seed, 2147483647);
  x = round(1e4 * seed / 2147483647) / 1e4;
endfunction

% A noisy level with spikes of one to four samples and a step now and then.
function xs = trace(n, noise)
  xs = zeros(1, n);
  level = draw();
  spike = 0;
  for i = 1:n
    if (draw() < .05) level = draw(); endif
    if (spike == 0 && draw() < .08) spike = ceil(4 * draw()); endif
    xs(i) = level + noise * (draw() + draw() + draw() - 1.5);
    if (spike > 0)
      xs(i) += .5;
      spike--;
    endif
    xs(i) = round(1e6 * xs(i)) / 1e6;
  endfor
endfunction

function ms = dynamic(xs, p)
  [n, norm, hold, fast, delta, kappa] = num2cell(p){:};
  m = xs(1); v = 0; signs = [];
  ms = m;
  for x = xs(2:end)
    e = x - m;
    if (abs(e) <= max(delta, kappa * v))
      signs = [];
      m += norm * e;
      v += .05 * (abs(e) - v);
    else
      signs(end+1) = sign(e);
      if (numel(signs) >= n && all(signs(end-n+1:end) == sign(e)))
        m += fast * e;
      else
        m += hold * e;
      endif
    endif
    ms(end+1) = m;
  endfor
endfunction

function ms = ema(xs, p)
  ms = filter(p, [1, p-1], xs, (1-p) * xs(1));  % Octave's own recursion
endfunction

function ms = median_ema(xs, p)
  w = p(1);
  padded = [xs(1)*ones(1, w-1), xs];
  meds = arrayfun(@(i) median(padded(i:i+w-1)), 1:numel(xs));
  ms = ema(meds, p(2));
endfunction

function ms = one_euro(xs, p)
  [rate, least, beta, cutoff] = num2cell(p){:};
  alpha = @(f) 1 / (1 + (1/(2*pi*f)) * rate);
  m = xs(1); dx = 0;
  ms = m;
  for x = xs(2:end)
    a = alpha(cutoff);
    dx = a * (x - m) * rate + (1-a) * dx;
    a = alpha(least + beta * abs(dx));
    m = a * x + (1-a) * m;
    ms(end+1) = m;
  endfor
endfunction

function golden(name, f, p, n, noise)
  xs = trace(n, noise);
  if (!any(strcmp(name, argv()))) return; endif
  printf("%s", name); printf(" %.17g", p); printf("\n");
  printf("x"); printf(" %.17g", xs); printf("\n");
  printf("m"); printf(" %.17g", f(xs, p)); printf("\n");
endfunction

printf("# written by golden.m; do not edit\n");
for noise = [0 .02 .1 .3]
  golden("dynamic", @dynamic, [5 .3 .05 .8 .03 4], 120, noise);
  golden("dynamic", @dynamic, [2 .5 .1 1 .05 3], 120, noise);
  golden("dynamic", @dynamic, [1 .2 .02 .6 .01 6], 60, noise);
  golden("ema", @ema, .3, 60, noise);
  golden("ema", @ema, .05, 60, noise);
  golden("median", @median_ema, [9 .8], 60, noise);
  golden("median", @median_ema, [5 .3], 60, noise);
  golden("oneeuro", @one_euro, [10 .682 1 1], 60, noise);
  golden("oneeuro", @one_euro, [60 1 .007 1], 60, noise);
endfor
