% Golden values for package pronto, with the smoothed z-score and the rejection
% signal in their textbook form, over GNU Octave's own mean, std and svd. Run from
% the root of the tree (Debian: apt-get install octave):
%
%	octave-cli --norc pronto/testdata/golden.m > pronto/testdata/golden.txt
%
% The samples come from a generator of its own, so every Octave writes the same
% inputs. Two kinds of sequences:
%
%	detector LAG THRESHOLD INFLUENCE	then lines x (values), f (flags), m (mean
%		of the window after each value, once it is full), s (deviation)
%	tracker D LAG THRESHOLD SIGNED ENERGY	then y, one block of ten samples of D
%		channels one after the other, from which PCA has the directions; z, the
%		samples that follow, all before the next block is full; and r, the
%		signals of these. The detectors' windows begin with z.
1;

function x = draw()  % uniform in [0,1] with four decimals: exact as text
  persistent seed = 7919;
  seed = mod(16807 * seed, 2147483647);
  x = round(1e4 * seed / 2147483647) / 1e4;
endfunction

function xs = trace(n, noise)  % a level with noise, peaks and a step now and then
  level = draw();
  for i = 1:n
    if (draw() < .03) level = draw(); endif
    xs(i) = level + noise * (draw() - .5);
    if (draw() < .06) xs(i) += draw() - .5; endif
  endfor
  xs = round(1e4 * xs) / 1e4;
endfunction

function [flags, means, devs] = zscore(x, lag, threshold, influence)
  filtered = x(1:lag);
  flags = zeros(1, numel(x));
  means = mean(filtered);
  devs = std(filtered, 1);
  for i = lag+1:numel(x)
    w = filtered(end-lag+1:end);
    if (abs(x(i) - mean(w)) > max(threshold * std(w, 1), 1e-9))
      flags(i) = sign(x(i) - mean(w));
      filtered(end+1) = influence * x(i) + (1 - influence) * filtered(end);
    else
      filtered(end+1) = x(i);
    endif
    means(end+1) = mean(filtered(end-lag+1:end));
    devs(end+1) = std(filtered(end-lag+1:end), 1);
  endfor
endfunction

function row(name, xs)
  printf("%s", name);
  printf(" %.15g", xs);
  printf("\n");
endfunction

printf("# written by golden.m; do not edit\n");
for lag = [2 3 10 40]
  for threshold = [1.1 2.5 3.5]
    for influence = [0 .3 1]
      for noise = [0 .02]
        x = trace(100, noise);
        [f, m, s] = zscore(x, lag, threshold, influence);
        printf("detector %d %.17g %.17g\n", lag, threshold, influence);
        row("x", x); row("f", f); row("m", m); row("s", s);
      endfor
    endfor
  endfor
endfor
for d = [1 2 4 8]
  for lag = [3 4]
    for signed = [0 1]
      for energy = [0 1]
        y = zeros(d, 10);
        for i = 1:d y(i, :) = trace(10, .3); endfor
        z = zeros(d, 9);
        for i = 1:d z(i, :) = trace(9, .05); endfor
        mu = mean(y, 2);
        [u, s, v] = svd(y - mu, "econ");
        u = u .* sign(sum(u, 1));
        s = diag(s);
        for j = 1:d f(j, 1:9) = zscore(u(:, j)' * z, lag, 1.5, .5); endfor
        f = f(1:d, 1:9);
        if (!signed) f = abs(f); endif
        if (energy) r = (s.^2)' * f / sum(s.^2); else r = s' * f / sum(s); endif
        printf("tracker %d %d 1.5 %d %d\n", d, lag, signed, energy);
        row("y", y(:)); row("z", z(:)); row("r", r);
        clear f;
      endfor
    endfor
  endfor
endfor
